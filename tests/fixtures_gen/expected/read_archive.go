// Reads an archive of golden binlogs with nothing but Go's own library, as a decoder's tests would:
// checks SHA256SUMS, and every event's header and every row's integers against the expected lines.
// Usage: go run read_archive.go ARCHIVE; prints one line, or what is wrong with status 1.
package main

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path"
	"strings"
)

type event struct {
	File     string  `json:"file"`
	Pos      int64   `json:"pos"`
	EndPos   int64   `json:"end_pos"`
	Inner    *int    `json:"inner"`
	Size     int64   `json:"size"`
	Code     byte    `json:"code"`
	ServerID uint32  `json:"server_id"`
	Time     uint32  `json:"timestamp"`
	Raw      *string `json:"raw"`
}

type images map[string]map[string]*string

type row struct {
	File     string                     `json:"file"`
	Pos      int64                      `json:"pos"`
	Op       string                     `json:"op"`
	Before   map[string]json.RawMessage `json:"before"`
	After    map[string]json.RawMessage `json:"after"`
	Raw      images                     `json:"raw"`
	Integers map[string]string          `json:"integers"`
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func files(name string) map[string][]byte {
	found := map[string][]byte{}
	keep := func(name string, data io.Reader) {
		_, inside, _ := strings.Cut(name, "/")
		content, err := io.ReadAll(data)
		must(err)
		found[inside] = content
	}
	if strings.HasSuffix(name, ".zip") {
		archive, err := zip.OpenReader(name)
		must(err)
		for _, member := range archive.File {
			data, err := member.Open()
			must(err)
			keep(member.Name, data)
		}
		return found
	}
	file, err := os.Open(name)
	must(err)
	stream, err := gzip.NewReader(file)
	must(err)
	archive := tar.NewReader(stream)
	for {
		member, err := archive.Next()
		if err == io.EOF {
			return found
		}
		must(err)
		keep(member.Name, archive)
	}
}

func checkSums(found map[string][]byte) {
	lines := strings.Split(strings.TrimSpace(string(found["SHA256SUMS"])), "\n")
	for _, line := range lines {
		want, name, _ := strings.Cut(line, "  ")
		sum := sha256.Sum256(found[name])
		if hex.EncodeToString(sum[:]) != want {
			log.Fatalf("%s: another SHA-256", name)
		}
	}
	if len(lines)+1 != len(found) {
		log.Fatalf("%d sums of %d files", len(lines), len(found))
	}
}

func eachLine(data []byte, take func(line []byte)) {
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		take(scanner.Bytes())
	}
	must(scanner.Err())
}

func unhex(text string) []byte {
	data, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	must(err)
	return data
}

func checkEvent(where string, logs map[string][]byte, line []byte) (inner bool) {
	var e event
	must(json.Unmarshal(line, &e))
	var data []byte
	if e.Inner == nil {
		data = logs[e.File][e.Pos:e.EndPos]
	} else {
		data = unhex(*e.Raw)
	}
	header := []any{
		binary.LittleEndian.Uint32(data), data[4], binary.LittleEndian.Uint32(data[5:]),
		int64(binary.LittleEndian.Uint32(data[9:])), int64(len(data)),
	}
	if fmt.Sprint(header) != fmt.Sprint([]any{e.Time, e.Code, e.ServerID, e.Size, e.Size}) {
		log.Fatalf("%s at %d: header %v", where, e.Pos, header)
	}
	return e.Inner != nil
}

func checkRow(where string, line []byte) (cells, large int) {
	var r row
	must(json.Unmarshal(line, &r))
	for which, image := range map[string]map[string]json.RawMessage{"before": r.Before, "after": r.After} {
		if len(image) != len(r.Raw[which]) {
			log.Fatalf("%s at %d: %s has other raw cells", where, r.Pos, which)
		}
		for column, value := range image {
			raw, there := r.Raw[which][column]
			if !there || (raw == nil) != (string(value) == "null") {
				log.Fatalf("%s at %d: %s", where, r.Pos, column)
			}
			cells++
		}
	}
	for pointer, digits := range r.Integers {
		parts := strings.SplitN(pointer, "/", 3)
		image := map[string]map[string]json.RawMessage{"before": r.Before, "after": r.After}[parts[1]]
		if image == nil {
			continue
		}
		name := strings.ReplaceAll(strings.ReplaceAll(parts[2], "~1", "/"), "~0", "~")
		if string(image[name]) != digits {
			log.Fatalf("%s at %d: %s is %s", where, r.Pos, pointer, digits)
		}
		large++
	}
	return cells, large
}

func main() {
	log.SetFlags(0)
	found := files(os.Args[1])
	checkSums(found)
	var index struct {
		Cases []struct {
			Path    string         `json:"path"`
			Binlogs []string       `json:"binlogs"`
			Proved  map[string]int `json:"proved"`
		} `json:"cases"`
	}
	must(json.Unmarshal(found["index.json"], &index))
	events, inners, rows, cells, large := 0, 0, 0, 0, 0
	for _, c := range index.Cases {
		logs := map[string][]byte{}
		for _, name := range c.Binlogs {
			logs[name] = found[path.Join(c.Path, name)]
		}
		before := events
		eachLine(found[c.Path+"/events.jsonl"], func(line []byte) {
			if checkEvent(c.Path, logs, line) {
				inners++
			}
			events++
		})
		if events-before != c.Proved["events"] {
			log.Fatalf("%s: %d events", c.Path, events-before)
		}
		eachLine(found[c.Path+"/rows.jsonl"], func(line []byte) {
			more, big := checkRow(c.Path, line)
			cells, large = cells+more, large+big
			rows++
		})
	}
	fmt.Printf("%d cases, %d events, %d of them inside payloads, %d rows, %d cells, %d integers beyond 2^53\n",
		len(index.Cases), events, inners, rows, cells, large)
}
