// Decodes every value of a binlog with go-mysql, and prints what it counted.
package main

import (
	"fmt"
	"os"

	"github.com/go-mysql-org/go-mysql/replication"
)

var changes, values int

func count(event *replication.BinlogEvent) error {
	switch body := event.Event.(type) {
	case *replication.RowsEvent:
		for i, row := range body.Rows {
			values += len(row) - len(body.SkippedColumns[i])
		}
		switch event.Header.EventType {
		case replication.UPDATE_ROWS_EVENTv1, replication.UPDATE_ROWS_EVENTv2, replication.PARTIAL_UPDATE_ROWS_EVENT:
			changes += len(body.Rows) / 2
		default:
			changes += len(body.Rows)
		}
	case *replication.TransactionPayloadEvent:
		for _, inner := range body.Events {
			if err := count(inner); err != nil {
				return err
			}
		}
	}
	return nil
}

func main() {
	parser := replication.NewBinlogParser()
	parser.SetVerifyChecksum(true)
	if err := parser.ParseFile(os.Args[1], 0, count); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("{\"changes\": %d, \"values\": %d}\n", changes, values)
}
