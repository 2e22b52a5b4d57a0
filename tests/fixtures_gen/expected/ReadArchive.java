// Reads an archive of golden binlogs with nothing but Java's own library, as a decoder's tests would:
// checks SHA256SUMS, and every event's header and every row's cells against the expected lines.
// Usage: java ReadArchive.java ARCHIVE; prints one line, or what is wrong with status 1.

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

public class ReadArchive {
    static int events, inners, rows, cells, large;

    public static void main(String[] arguments) throws Exception {
        try {
            Map<String, byte[]> found = files(Path.of(arguments[0]));
            checkSums(found);
            Map<?, ?> index = (Map<?, ?>) Json.parse(text(found.get("index.json")));
            List<?> cases = (List<?>) index.get("cases");
            for (Object one : cases) checkCase((Map<?, ?>) one, found);
            System.out.printf(
                "%d cases, %d events, %d of them inside payloads, %d rows, %d cells, "
                    + "%d integers beyond 2^53%n",
                cases.size(), events, inners, rows, cells, large);
        } catch (IllegalStateException wrong) {
            System.err.println(wrong.getMessage());
            System.exit(1);
        }
    }

    static Map<String, byte[]> files(Path archive) throws IOException {
        Map<String, byte[]> found = new HashMap<>();
        try (InputStream file = Files.newInputStream(archive)) {
            if (archive.toString().endsWith(".zip")) {
                ZipInputStream zip = new ZipInputStream(file);
                for (ZipEntry entry; (entry = zip.getNextEntry()) != null; )
                    found.put(inside(entry.getName()), zip.readAllBytes());
                return found;
            }
            DataInputStream tar = new DataInputStream(new GZIPInputStream(file));
            byte[] block = new byte[512];
            while (true) {
                tar.readFully(block);
                if (block[0] == 0) return found;
                String[] size = field(block, 124, 12).trim().split(" ");
                byte[] data = new byte[Integer.parseInt(size[0], 8)];
                tar.readFully(data);
                tar.skipNBytes((512 - data.length % 512) % 512);
                String folder = field(block, 345, 155);
                String name = field(block, 0, 100);
                found.put(inside(folder.isEmpty() ? name : folder + "/" + name), data);
            }
        }
    }

    static String field(byte[] block, int start, int size) {
        int end = start;
        while (end < start + size && block[end] != 0) end++;
        return new String(block, start, end - start, StandardCharsets.UTF_8);
    }

    static String inside(String name) {
        return name.substring(name.indexOf('/') + 1);
    }

    static String text(byte[] data) {
        return new String(data, StandardCharsets.UTF_8);
    }

    static void checkSums(Map<String, byte[]> found) throws Exception {
        List<String> lines = text(found.get("SHA256SUMS")).lines().toList();
        for (String line : lines) {
            String[] parts = line.split("  ", 2);
            byte[] sum = MessageDigest.getInstance("SHA-256").digest(found.get(parts[1]));
            check(HexFormat.of().formatHex(sum).equals(parts[0]), parts[1] + ": another SHA-256");
        }
        check(lines.size() + 1 == found.size(), lines.size() + " sums of " + found.size());
    }

    static void checkCase(Map<?, ?> one, Map<String, byte[]> found) {
        String place = (String) one.get("path");
        int before = events;
        text(found.get(place + "/events.jsonl")).lines().forEach(line -> {
            Map<?, ?> event = (Map<?, ?>) Json.parse(line);
            checkEvent(place, event, found.get(place + "/" + event.get("file")));
        });
        int proved = number(((Map<?, ?>) one.get("proved")).get("events")).intValue();
        check(events - before == proved, place + ": " + (events - before) + " events");
        text(found.get(place + "/rows.jsonl")).lines()
            .forEach(line -> checkRow(place, (Map<?, ?>) Json.parse(line)));
    }

    static void checkEvent(String place, Map<?, ?> event, byte[] log) {
        boolean inner = event.get("inner") != null;
        byte[] data = inner
            ? HexFormat.of().parseHex(((String) event.get("raw")).substring(2))
            : Arrays.copyOfRange(log, number(event.get("pos")).intValue(),
                number(event.get("end_pos")).intValue());
        ByteBuffer header = ByteBuffer.wrap(data).order(ByteOrder.LITTLE_ENDIAN);
        List<Long> there = List.of(
            Integer.toUnsignedLong(header.getInt(0)), (long) (data[4] & 0xff),
            Integer.toUnsignedLong(header.getInt(5)), Integer.toUnsignedLong(header.getInt(9)),
            (long) data.length);
        List<Long> wanted = new ArrayList<>();
        for (String name : List.of("timestamp", "code", "server_id", "size", "size"))
            wanted.add(number(event.get(name)).longValue());
        check(there.equals(wanted), place + " at " + event.get("pos") + ": header " + there);
        events++;
        if (inner) inners++;
    }

    static void checkRow(String place, Map<?, ?> row) {
        String where = place + " at " + row.get("pos");
        rows++;
        for (String which : List.of("before", "after")) {
            Map<?, ?> image = (Map<?, ?>) row.get(which);
            Map<?, ?> raw = (Map<?, ?>) ((Map<?, ?>) row.get("raw")).get(which);
            if (image == null) continue;
            check(image.keySet().equals(raw.keySet()), where + ": " + which + " has other raw cells");
            image.forEach((column, value) ->
                check((value == null) == (raw.get(column) == null), where + ": " + column));
            cells += image.size();
        }
        Map<?, ?> integers = (Map<?, ?>) row.get("integers");
        if (integers == null) return;
        integers.forEach((pointer, digits) -> {
            String[] parts = ((String) pointer).split("/", 3);
            if (!(row.get(parts[1]) instanceof Map<?, ?> image)) return;
            Object value = image.get(parts[2].replace("~1", "/").replace("~0", "~"));
            check(String.valueOf(value).equals(digits), where + ": " + pointer + " is " + digits);
            large++;
        });
    }

    static BigInteger number(Object value) {
        return (BigInteger) value;
    }

    static void check(boolean right, String problem) {
        if (!right) throw new IllegalStateException(problem);
    }

    /** Objects, lists, texts, integers as BigInteger, other numbers as their text, booleans, null. */
    static class Json {
        private final String text;
        private int at;

        private Json(String text) {
            this.text = text;
        }

        static Object parse(String text) {
            return new Json(text).value();
        }

        private char next() {
            while (Character.isWhitespace(text.charAt(at))) at++;
            return text.charAt(at);
        }

        private Object value() {
            switch (next()) {
                case '{': {
                    Map<String, Object> found = new LinkedHashMap<>();
                    for (at++; next() != '}'; ) {
                        if (next() == ',') at++;
                        next();
                        String name = string();
                        next();
                        at++; // :
                        found.put(name, value());
                    }
                    at++;
                    return found;
                }
                case '[': {
                    List<Object> found = new ArrayList<>();
                    for (at++; next() != ']'; ) {
                        if (next() == ',') at++;
                        found.add(value());
                    }
                    at++;
                    return found;
                }
                case '"':
                    return string();
                default: {
                    int start = at;
                    while (at < text.length() && ",]} \n".indexOf(text.charAt(at)) < 0) at++;
                    String word = text.substring(start, at);
                    if (word.equals("null")) return null;
                    if (word.equals("true") || word.equals("false")) return word.equals("true");
                    return word.matches("-?\\d+") ? new BigInteger(word) : word;
                }
            }
        }

        private String string() {
            StringBuilder found = new StringBuilder();
            for (at++; text.charAt(at) != '"'; at++) {
                char one = text.charAt(at);
                if (one == '\\') {
                    one = text.charAt(++at);
                    int known = "bfnrt".indexOf(one);
                    if (known >= 0) one = "\b\f\n\r\t".charAt(known);
                    else if (one == 'u') {
                        one = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
                        at += 4;
                    }
                }
                found.append(one);
            }
            at++;
            return found.toString();
        }
    }
}
