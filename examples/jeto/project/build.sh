#!/bin/sh
# Compiles the modules that TICKMARK_MODULES names, their tests and the runner.
set -e
jars=${JUNIT_JARS:-/usr/share/java/junit4.jar:/usr/share/java/hamcrest-core.jar}
mkdir -p target/classes
for module in $TICKMARK_MODULES; do
    find "$module/src" -name '*.java'
done > target/sources
javac -encoding UTF-8 -nowarn -cp "$jars" -d target/classes @target/sources support/XmlRunner.java
