import com.github.shyiko.mysql.binlog.BinaryLogFileReader;
import com.github.shyiko.mysql.binlog.event.DeleteRowsEventData;
import com.github.shyiko.mysql.binlog.event.Event;
import com.github.shyiko.mysql.binlog.event.EventData;
import com.github.shyiko.mysql.binlog.event.EventHeaderV4;
import com.github.shyiko.mysql.binlog.event.TableMapEventData;
import com.github.shyiko.mysql.binlog.event.UpdateRowsEventData;
import com.github.shyiko.mysql.binlog.event.WriteRowsEventData;
import java.io.BufferedInputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Types;

/**
 * Writes the row images of a binlog as Parquet, a file for each table, as converters on
 * mysql-binlog-connector-java do: whole numbers as numbers, all else as text. An update is two rows.
 */
public final class ToParquet {
    private static final Map<Long, Table> tables = new HashMap<>();
    private static String out;
    private static long rows;

    private static final class Table {
        final MessageType type;
        final boolean[] whole;
        final ParquetWriter<Group> writer;

        Table(TableMapEventData map) throws IOException {
            byte[] types = map.getColumnTypes();
            whole = new boolean[types.length];
            Types.GroupBuilder<MessageType> schema = Types.buildMessage()
                    .required(PrimitiveTypeName.INT64).named("_pos")
                    .required(PrimitiveTypeName.BINARY).as(LogicalTypeAnnotation.stringType()).named("_change_type");
            for (int i = 0; i < types.length; i++) {
                int code = types[i] & 0xff;
                whole[i] = code == 1 || code == 2 || code == 3 || code == 8 || code == 9;
                schema = whole[i]
                        ? schema.optional(PrimitiveTypeName.INT64).named("c" + i)
                        : schema.optional(PrimitiveTypeName.BINARY)
                                .as(LogicalTypeAnnotation.stringType()).named("c" + i);
            }
            type = schema.named(map.getTable());
            String name = map.getDatabase() + "." + map.getTable() + "." + tables.size() + ".parquet";
            writer = ExampleParquetWriter.builder(new Path(new File(out, name).toURI()))
                    .withConf(new Configuration(false))
                    .withType(type)
                    .withCompressionCodec(CompressionCodecName.ZSTD)
                    .build();
        }
    }

    private static void row(long table, long pos, String change, Serializable[] values) throws IOException {
        Table into = tables.get(table);
        Group group = new SimpleGroup(into.type);
        group.add(0, pos);
        group.add(1, change);
        for (int i = 0; i < values.length; i++) {
            Serializable value = values[i];
            if (value == null) {
                continue;
            }
            if (into.whole[i]) {
                group.add(i + 2, ((Number) value).longValue());
            } else if (value instanceof byte[]) {
                group.add(i + 2, Binary.fromReusedByteArray((byte[]) value));
            } else {
                group.add(i + 2, value.toString());
            }
        }
        into.writer.write(group);
        rows++;
    }

    private static void write(EventData data, long pos) throws IOException {
        if (data instanceof TableMapEventData) {
            TableMapEventData map = (TableMapEventData) data;
            if (!tables.containsKey(map.getTableId())) {
                tables.put(map.getTableId(), new Table(map));
            }
        } else if (data instanceof WriteRowsEventData) {
            WriteRowsEventData event = (WriteRowsEventData) data;
            for (Serializable[] row : event.getRows()) {
                row(event.getTableId(), pos, "insert", row);
            }
        } else if (data instanceof DeleteRowsEventData) {
            DeleteRowsEventData event = (DeleteRowsEventData) data;
            for (Serializable[] row : event.getRows()) {
                row(event.getTableId(), pos, "delete", row);
            }
        } else if (data instanceof UpdateRowsEventData) {
            UpdateRowsEventData event = (UpdateRowsEventData) data;
            for (Map.Entry<Serializable[], Serializable[]> pair : event.getRows()) {
                row(event.getTableId(), pos, "update_preimage", pair.getKey());
                row(event.getTableId(), pos, "update_postimage", pair.getValue());
            }
        }
    }

    public static void main(String[] args) throws Exception {
        out = args[1];
        try (BinaryLogFileReader reader =
                new BinaryLogFileReader(new BufferedInputStream(new FileInputStream(args[0]), 1 << 20))) {
            for (Event event; (event = reader.readEvent()) != null; ) {
                EventHeaderV4 header = event.getHeader();
                write(event.getData(), header.getPosition());
            }
        }
        for (Table table : tables.values()) {
            table.writer.close();
        }
        System.out.printf("{\"rows\": %d}%n", rows);
    }
}
