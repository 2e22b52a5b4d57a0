// Prints the row changes of a binary log as go-mysql decodes them, a JSON object a line, in the
// form "rows" of binlogkit conform (docs/decoders.md). Nothing is mended on the way: values are
// printed as the library gives them. Usage: go run . FILE
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

type row struct {
	Pos    int64           `json:"pos"`
	EndPos int64           `json:"end_pos"`
	Inner  *int            `json:"inner"`
	Row    int             `json:"row"`
	DB     string          `json:"db"`
	Table  string          `json:"table"`
	Op     string          `json:"op"`
	Before *map[string]any `json:"before"`
	After  *map[string]any `json:"after"`
}

var out *json.Encoder

func value(v any, kind byte) any {
	switch v := v.(type) {
	case []byte:
		if kind == mysql.MYSQL_TYPE_JSON {
			return string(v)
		}
		return "0x" + strings.ToUpper(hex.EncodeToString(v))
	case string:
		if !utf8.ValidString(v) {
			return "0x" + strings.ToUpper(hex.EncodeToString([]byte(v)))
		}
		return v
	case fmt.Stringer:
		return v.String()
	default:
		return v
	}
}

func image(e *replication.RowsEvent, n int) *map[string]any {
	skipped := map[int]bool{}
	if n < len(e.SkippedColumns) {
		for _, i := range e.SkippedColumns[n] {
			skipped[i] = true
		}
	}
	found := map[string]any{}
	for i, v := range e.Rows[n] {
		if skipped[i] {
			continue
		}
		name := fmt.Sprintf("@%d", i+1)
		if i < len(e.Table.ColumnName) {
			name = string(e.Table.ColumnName[i])
		}
		found[name] = value(v, e.Table.ColumnType[i])
	}
	return &found
}

func rows(e *replication.RowsEvent, base row) []row {
	base.DB, base.Table = string(e.Table.Schema), string(e.Table.Table)
	found := []row{}
	step := 1
	kind := e.Type()
	if kind == replication.EnumRowsEventTypeUpdate {
		step = 2
	}
	for n := 0; n+step <= len(e.Rows); n += step {
		r := base
		r.Row = n / step
		switch kind {
		case replication.EnumRowsEventTypeInsert:
			r.Op, r.After = "insert", image(e, n)
		case replication.EnumRowsEventTypeDelete:
			r.Op, r.Before = "delete", image(e, n)
		default:
			r.Op, r.Before, r.After = "update", image(e, n), image(e, n+1)
		}
		found = append(found, r)
	}
	return found
}

func main() {
	stream := bufio.NewWriter(os.Stdout)
	out = json.NewEncoder(stream)
	out.SetEscapeHTML(false)
	emit := func(e *replication.RowsEvent, base row) error {
		for _, r := range rows(e, base) {
			if err := out.Encode(r); err != nil {
				return err
			}
		}
		return nil
	}
	parser := replication.NewBinlogParser()
	parser.SetVerifyChecksum(true)
	parser.SetUseDecimal(false)
	pos := int64(4)
	err := parser.ParseFile(os.Args[1], 0, func(e *replication.BinlogEvent) error {
		base := row{Pos: pos, EndPos: pos + int64(e.Header.EventSize)}
		pos = base.EndPos
		switch event := e.Event.(type) {
		case *replication.RowsEvent:
			return emit(event, base)
		case *replication.TransactionPayloadEvent:
			for i, inner := range event.Events {
				if rows, ok := inner.Event.(*replication.RowsEvent); ok {
					number := i
					base.Inner = &number
					if err := emit(rows, base); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	if flushed := stream.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
