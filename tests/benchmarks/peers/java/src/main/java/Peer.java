import com.github.shyiko.mysql.binlog.BinaryLogFileReader;
import com.github.shyiko.mysql.binlog.event.DeleteRowsEventData;
import com.github.shyiko.mysql.binlog.event.Event;
import com.github.shyiko.mysql.binlog.event.EventData;
import com.github.shyiko.mysql.binlog.event.TransactionPayloadEventData;
import com.github.shyiko.mysql.binlog.event.UpdateRowsEventData;
import com.github.shyiko.mysql.binlog.event.WriteRowsEventData;
import java.io.BufferedInputStream;
import java.io.FileInputStream;
import java.io.Serializable;
import java.util.Map;

/** Decodes every value of a binlog with mysql-binlog-connector-java, and prints what it counted. */
public final class Peer {
    private static long changes;
    private static long values;

    private static void row(Serializable[] row) {
        values += row.length;
    }

    private static void count(EventData data) {
        if (data instanceof WriteRowsEventData) {
            for (Serializable[] row : ((WriteRowsEventData) data).getRows()) {
                changes++;
                row(row);
            }
        } else if (data instanceof DeleteRowsEventData) {
            for (Serializable[] row : ((DeleteRowsEventData) data).getRows()) {
                changes++;
                row(row);
            }
        } else if (data instanceof UpdateRowsEventData) {
            for (Map.Entry<Serializable[], Serializable[]> row : ((UpdateRowsEventData) data).getRows()) {
                changes++;
                row(row.getKey());
                row(row.getValue());
            }
        } else if (data instanceof TransactionPayloadEventData) {
            for (Event inner : ((TransactionPayloadEventData) data).getUncompressedEvents()) {
                count(inner.getData());
            }
        }
    }

    public static void main(String[] args) throws Exception {
        try (BinaryLogFileReader reader =
                new BinaryLogFileReader(new BufferedInputStream(new FileInputStream(args[0]), 1 << 20))) {
            for (Event event; (event = reader.readEvent()) != null; ) {
                count(event.getData());
            }
        }
        System.out.printf("{\"changes\": %d, \"values\": %d}%n", changes, values);
    }
}
