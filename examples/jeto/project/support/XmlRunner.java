import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/** Runs test classes and writes a report in JUnit's XML for each. */
public final class XmlRunner {
    public static void main(String[] names) throws Exception {
        Path folder = Paths.get("target/surefire-reports");
        Files.createDirectories(folder);
        boolean passed = true;
        for (String name : names) {
            StringBuilder cases = new StringBuilder();
            JUnitCore core = new JUnitCore();
            core.addListener(new RunListener() {
                private long begun;
                private boolean failed;

                @Override
                public void testStarted(Description test) {
                    failed = false;
                    begun = System.nanoTime();
                }

                @Override
                public void testFailure(Failure failure) {
                    failed = true;
                }

                @Override
                public void testFinished(Description test) {
                    double seconds = (System.nanoTime() - begun) / 1e9;
                    cases.append(String.format(
                            java.util.Locale.ROOT,
                            "<testcase classname=\"%s\" name=\"%s\" time=\"%.6f\">%s</testcase>%n",
                            test.getClassName(), test.getMethodName(), seconds, failed ? "<failure/>" : ""));
                }
            });
            passed &= core.run(Class.forName(name)).wasSuccessful();
            try (PrintWriter out = new PrintWriter(folder.resolve("TEST-" + name + ".xml").toFile(), "UTF-8")) {
                out.printf("<testsuite name=\"%s\">%n%s</testsuite>%n", name, cases);
            }
        }
        System.exit(passed ? 0 : 1);
    }
}
