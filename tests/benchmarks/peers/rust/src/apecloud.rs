//! Decodes every value of a binlog with mysql-binlog-connector-rust, and prints what it counted.
use mysql_binlog_connector_rust::{
    binlog_parser::BinlogParser,
    event::{event_data::EventData, row_event::RowEvent},
};
use std::{collections::HashMap, fs::File, io::BufReader};

#[derive(Default)]
struct Counts {
    changes: u64,
    values: u64,
}

impl Counts {
    fn row(&mut self, row: &RowEvent) {
        self.values += std::hint::black_box(row).column_values.len() as u64;
    }

    fn event(&mut self, data: &EventData) {
        match data {
            EventData::WriteRows(e) => e.rows.iter().for_each(|r| {
                self.changes += 1;
                self.row(r)
            }),
            EventData::DeleteRows(e) => e.rows.iter().for_each(|r| {
                self.changes += 1;
                self.row(r)
            }),
            EventData::UpdateRows(e) => e.rows.iter().for_each(|(before, after)| {
                self.changes += 1;
                self.row(before);
                self.row(after)
            }),
            EventData::TransactionPayload(e) => {
                e.uncompressed_events.iter().for_each(|(_, inner)| self.event(inner))
            }
            _ => {}
        }
    }
}

fn main() {
    let path = std::env::args().nth(1).expect("a binlog's path");
    let size = std::fs::metadata(&path).expect("metadata").len();
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).expect("open"));
    let mut parser = BinlogParser { checksum_length: 0, table_map_event_by_table_id: HashMap::new() };
    parser.check_magic(&mut file).expect("magic");
    let mut counts = Counts::default();
    let mut read = 4;
    while read < size {
        let (header, data) = parser.next(&mut file).expect("event");
        read += u64::from(header.event_length);
        counts.event(&data);
    }
    println!("{{\"changes\": {}, \"values\": {}}}", counts.changes, counts.values);
}
