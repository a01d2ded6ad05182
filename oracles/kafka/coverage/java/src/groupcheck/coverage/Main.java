package groupcheck.coverage;

import org.jacoco.core.analysis.Analyzer;
import org.jacoco.core.analysis.CoverageBuilder;
import org.jacoco.core.analysis.IClassCoverage;
import org.jacoco.core.analysis.ICounter;
import org.jacoco.core.analysis.ILine;
import org.jacoco.core.analysis.IMethodCoverage;
import org.jacoco.core.tools.ExecFileLoader;

import java.io.File;
import java.io.InputStream;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * Reads what JaCoCo's agent counted: {@code Main EXEC_FILE JAR CLASS...}. Prints one JSON line for
 * each method of these classes: class, name, and for each of its lines [number, missed
 * instructions, covered ones, missed branches, covered ones].
 */
public final class Main {
    private Main() { }

    public static void main(String[] arguments) throws Exception {
        ExecFileLoader counted = new ExecFileLoader();
        counted.load(new File(arguments[0]));
        CoverageBuilder found = new CoverageBuilder();
        Analyzer analyzer = new Analyzer(counted.getExecutionDataStore(), found);
        List<String> classes = Arrays.asList(arguments).subList(2, arguments.length);
        try (JarFile jar = new JarFile(arguments[1])) {
            for (String name : classes) {
                JarEntry entry = jar.getJarEntry(name + ".class");
                if (entry == null) continue;     // a class that this version of Kafka does not have
                try (InputStream bytes = jar.getInputStream(entry)) {
                    analyzer.analyzeClass(bytes, name);
                }
            }
        }
        if (!found.getNoMatchClasses().isEmpty()) {
            throw new IllegalStateException(
                    "the JVM ran other classes than those of " + arguments[1]);
        }
        for (IClassCoverage type : found.getClasses())
            for (IMethodCoverage method : type.getMethods()) print(System.out, type, method);
    }

    private static void print(PrintStream out, IClassCoverage type, IMethodCoverage method) {
        StringBuilder lines = new StringBuilder();
        for (int number = method.getFirstLine(); number <= method.getLastLine(); number++) {
            ILine line = method.getLine(number);
            ICounter instructions = line.getInstructionCounter();
            ICounter branches = line.getBranchCounter();
            if (instructions.getTotalCount() == 0) continue;
            lines.append(lines.length() == 0 ? "" : ",")
                    .append('[').append(number)
                    .append(',').append(instructions.getMissedCount())
                    .append(',').append(instructions.getCoveredCount())
                    .append(',').append(branches.getMissedCount())
                    .append(',').append(branches.getCoveredCount())
                    .append(']');
        }
        out.println("{\"class\":\"" + type.getName() + "\",\"method\":\"" + method.getName()
                + "\",\"lines\":[" + lines + "]}");
    }
}
