#!/bin/sh
# Runs the test classes that TICKMARK_TEST_CLASSES names.
jars=${JUNIT_JARS:-/usr/share/java/junit4.jar:/usr/share/java/hamcrest-core.jar}
exec java -cp "target/classes:$jars" XmlRunner $TICKMARK_TEST_CLASSES
