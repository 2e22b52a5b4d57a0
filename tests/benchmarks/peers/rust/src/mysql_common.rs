//! Decodes every value of a binlog with mysql_common, and prints what it counted.
use mysql_common::binlog::{
    consts::BinlogVersion,
    events::{Event, EventData, RowsEventData},
    row::BinlogRow,
    EventStreamReader,
};
use std::{fs::File, io::BufReader, io::Read};

#[derive(Default)]
struct Counts {
    changes: u64,
    values: u64,
}

fn values(row: Option<BinlogRow>) -> u64 {
    std::hint::black_box(row).map_or(0, |row| (0..row.len()).filter(|i| row.as_ref(*i).is_some()).count() as u64)
}

impl Counts {
    fn rows(&mut self, reader: &EventStreamReader, rows: &RowsEventData) {
        let table = reader.get_tme(rows.table_id()).expect("table map");
        for row in rows.rows(table) {
            let (before, after) = row.expect("row");
            self.changes += 1;
            self.values += values(before) + values(after);
        }
    }

    fn event(&mut self, reader: &mut EventStreamReader, event: &Event) {
        match event.read_data().expect("data") {
            Some(EventData::RowsEvent(rows)) => self.rows(reader, &rows),
            Some(EventData::TransactionPayloadEvent(payload)) => {
                let mut inner = payload.decompressed().expect("payload");
                while let Some(event) = reader.read_decompressed(&mut inner).expect("event") {
                    self.event(reader, &event);
                }
            }
            _ => {}
        }
    }
}

fn main() {
    let path = std::env::args().nth(1).expect("a binlog's path");
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).expect("open"));
    let mut magic = [0u8; 4];
    file.read_exact(&mut magic).expect("magic");
    let mut reader = EventStreamReader::new(BinlogVersion::Version4);
    let mut counts = Counts::default();
    while let Some(event) = reader.read(&mut file).expect("event") {
        counts.event(&mut reader, &event);
    }
    println!("{{\"changes\": {}, \"values\": {}}}", counts.changes, counts.values);
}
