import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.io.FileInputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Properties;

/** Prints each change event's value, a line each, until it is ended. */
public final class Changes {
    private Changes() {}

    /** The engine's and the connector's properties stand in the file that is named. */
    public static void main(String[] words) throws Exception {
        Properties given = new Properties();
        try (FileInputStream file = new FileInputStream(words[0])) {
            given.load(file);
        }
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        DebeziumEngine<ChangeEvent<String, String>> engine =
                DebeziumEngine.create(Json.class)
                        .using(given)
                        .notifying(event -> out.println(event.value()))
                        .using((success, message, error) -> System.err.println(message))
                        .build();
        engine.run();
        engine.close();
    }
}
