package kafka.server.share;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Executes a schedule a line on a fresh partition: "2 1 1 -1;acquire m0 0;acknowledge m0 0-0=1"
 * (the limit of deliveries, the number of records, of those in a batch, an offset without one,
 * commands). Answers with a line: what came of the last
 * command, and the state after it; or "!" and what was thrown.
 */
final class Main {
    private Main() { }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(
                new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = lines.readLine()) != null; ) {
            answers.print(answer(line) + "\n");
            answers.flush();
        }
    }

    private static String answer(String line) {
        try {
            String[] commands = line.split(";");
            String[] bounds = commands[0].split(" ");
            Log log = new Log(
                    Integer.parseInt(bounds[1]), Integer.parseInt(bounds[2]),
                    Integer.parseInt(bounds[3]));
            Leader leader = new Leader(Integer.parseInt(bounds[0]), log);
            String said = "";
            for (int k = 1; k < commands.length; k++) said = leader.told(commands[k].split(" "));
            return said + "|" + leader.shown(log.end());
        } catch (Exception e) {
            return "!" + e.toString().replace('\n', ' ');
        }
    }
}
