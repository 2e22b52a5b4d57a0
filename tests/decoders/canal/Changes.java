import com.alibaba.fastjson2.JSON;
import com.alibaba.fastjson2.JSONWriter;
import com.alibaba.otter.canal.connector.core.producer.MQMessageUtils;
import com.alibaba.otter.canal.instance.manager.CanalInstanceWithManager;
import com.alibaba.otter.canal.instance.manager.model.Canal;
import com.alibaba.otter.canal.instance.manager.model.CanalParameter;
import com.alibaba.otter.canal.protocol.ClientIdentity;
import com.alibaba.otter.canal.protocol.FlatMessage;
import com.alibaba.otter.canal.protocol.Message;
import com.alibaba.otter.canal.server.embedded.CanalServerWithEmbedded;
import java.io.FileInputStream;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadPoolExecutor;

/** Prints the flat messages of canal's embedded server, a line each, until it is ended. */
public final class Changes {
    private static final String NAME = "tests";
    private static final String ALL = ".*\\..*";

    private Changes() {}

    /** The file that is named has host, port, user, password, journal and position. */
    public static void main(String[] words) throws Exception {
        Properties given = new Properties();
        try (FileInputStream file = new FileInputStream(words[0])) {
            given.load(file);
        }
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        Canal canal = new Canal();
        canal.setId(1L);
        canal.setName(NAME);
        canal.setCanalParameter(parameter(given));
        CanalServerWithEmbedded server = CanalServerWithEmbedded.instance();
        server.setCanalInstanceGenerator(name -> new CanalInstanceWithManager(canal, ALL));
        server.start();
        server.start(NAME);
        ClientIdentity client = new ClientIdentity(NAME, (short) 1001, ALL);
        server.subscribe(client);
        ThreadPoolExecutor pool = (ThreadPoolExecutor) Executors.newFixedThreadPool(1);
        while (true) {
            Message message = server.getWithoutAck(client, 1000);
            if (message.getId() == -1) {
                Thread.sleep(20);
                continue;
            }
            for (FlatMessage flat :
                    MQMessageUtils.messageConverter(
                            MQMessageUtils.buildMessageData(message, pool), message.getId())) {
                out.println(JSON.toJSONString(flat, JSONWriter.Feature.WriteNulls));
            }
            server.ack(client, message.getId());
        }
    }

    private static CanalParameter parameter(Properties given) {
        CanalParameter found = new CanalParameter();
        found.setMetaMode(CanalParameter.MetaMode.MEMORY);
        found.setHaMode(CanalParameter.HAMode.HEARTBEAT);
        found.setIndexMode(CanalParameter.IndexMode.MEMORY);
        found.setStorageMode(CanalParameter.StorageMode.MEMORY);
        found.setMemoryStorageBufferSize(32 * 1024);
        found.setSourcingType(CanalParameter.SourcingType.MYSQL);
        found.setDbAddresses(
                List.of(
                        new InetSocketAddress(
                                given.getProperty("host"),
                                Integer.parseInt(given.getProperty("port")))));
        found.setDbUsername(given.getProperty("user"));
        found.setDbPassword(given.getProperty("password"));
        Map<String, Object> place =
                Map.of(
                        "journalName", given.getProperty("journal"),
                        "position", Long.parseLong(given.getProperty("position")));
        found.setPositions(List.of(JSON.toJSONString(place)));
        found.setSlaveId(4343L);
        found.setDefaultConnectionTimeoutInSeconds(30);
        found.setConnectionCharset("UTF-8");
        found.setReceiveBufferSize(8 * 1024);
        found.setSendBufferSize(8 * 1024);
        found.setDetectingEnable(false);
        found.setTsdbEnable(false);
        found.setGtidEnable(false);
        found.setParallel(false);
        return found;
    }
}
