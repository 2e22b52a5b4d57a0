//! Reads an archive of golden binlogs as a decoder's tests would: checks SHA256SUMS, and every
//! event's header and every row's integers against the expected lines.
//! Usage: cargo run ARCHIVE; prints one line, or what is wrong with status 1.

use std::{collections::HashMap, env, fs::File, io::Read, process::exit};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

type Files = HashMap<String, Vec<u8>>;

fn fail(what: String) -> ! {
    eprintln!("{what}");
    exit(1)
}

fn inside(name: &str) -> String {
    name.split_once('/').map_or("", |(_, rest)| rest).to_string()
}

fn files(name: &str) -> Files {
    let file = File::open(name).expect("the archive opens");
    let mut found = Files::new();
    if name.ends_with(".zip") {
        let mut archive = zip::ZipArchive::new(file).expect("a ZIP archive");
        for i in 0..archive.len() {
            let mut member = archive.by_index(i).expect("a member");
            let mut data = Vec::new();
            member.read_to_end(&mut data).expect("its data");
            found.insert(inside(member.name()), data);
        }
        return found;
    }
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    for member in archive.entries().expect("a tar archive") {
        let mut member = member.expect("a member");
        let name = member.path().expect("a name").to_string_lossy().into_owned();
        let mut data = Vec::new();
        member.read_to_end(&mut data).expect("its data");
        found.insert(inside(&name), data);
    }
    found
}

fn text<'a>(found: &'a Files, name: &str) -> &'a str {
    std::str::from_utf8(found.get(name).unwrap_or_else(|| fail(format!("no {name}")))).expect("UTF-8")
}

fn check_sums(found: &Files) {
    let mut count = 0;
    for line in text(found, "SHA256SUMS").lines() {
        let (want, name) = line.split_once("  ").expect("a sum and a name");
        let data = found.get(name).unwrap_or_else(|| fail(format!("no {name}")));
        if hex(&Sha256::digest(data)) != want {
            fail(format!("{name}: another SHA-256"));
        }
        count += 1;
    }
    if count + 1 != found.len() {
        fail(format!("{count} sums of {} files", found.len()));
    }
}

fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.trim_start_matches("0x");
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).expect("hex")).collect()
}

fn number(data: &[u8], at: usize) -> u64 {
    u32::from_le_bytes(data[at..at + 4].try_into().expect("four bytes")).into()
}

/// Whether the event is inside a payload.
fn check_event(place: &str, found: &Files, event: &Value) -> bool {
    let pos = event["pos"].as_u64().expect("pos") as usize;
    let inner = !event["inner"].is_null();
    let data = if inner {
        unhex(event["raw"].as_str().expect("raw"))
    } else {
        let log = &found[&format!("{place}/{}", event["file"].as_str().expect("file"))];
        log[pos..event["end_pos"].as_u64().expect("end_pos") as usize].to_vec()
    };
    let header = [
        ("timestamp", number(&data, 0)), ("code", data[4].into()), ("server_id", number(&data, 5)),
        ("size", number(&data, 9)), ("size", data.len() as u64),
    ];
    for (name, stored) in header {
        if event[name].as_u64() != Some(stored) {
            fail(format!("{place} at {pos}: {name} is {stored}"));
        }
    }
    inner
}

/// How many cells, and how many integers beyond 2^53.
fn check_row(place: &str, row: &Value) -> (usize, usize) {
    let none = Map::new();
    let (mut cells, mut large) = (0, 0);
    for which in ["before", "after"] {
        let image = row[which].as_object().unwrap_or(&none);
        let raw = row["raw"][which].as_object().unwrap_or(&none);
        if image.len() != raw.len() {
            fail(format!("{place} at {}: {which} has other raw cells", row["pos"]));
        }
        for (column, value) in image {
            if raw.get(column).is_none_or(|stored| stored.is_null() != value.is_null()) {
                fail(format!("{place} at {}: {column}", row["pos"]));
            }
            cells += 1;
        }
    }
    for (pointer, digits) in row["integers"].as_object().unwrap_or(&none) {
        if !pointer.starts_with("/before/") && !pointer.starts_with("/after/") {
            continue;
        }
        let said = row.pointer(pointer).map(Value::to_string);
        if said.as_deref() != digits.as_str() {
            fail(format!("{place} at {}: {pointer} is {digits}", row["pos"]));
        }
        large += 1;
    }
    (cells, large)
}

fn lines<'a>(found: &'a Files, name: &str) -> impl Iterator<Item = Value> + 'a {
    text(found, name).lines().map(|line| serde_json::from_str(line).expect("JSON"))
}

fn main() {
    let found = files(&env::args().nth(1).expect("an archive"));
    check_sums(&found);
    let index: Value = serde_json::from_str(text(&found, "index.json")).expect("JSON");
    let cases = index["cases"].as_array().expect("cases");
    let (mut events, mut inners, mut rows, mut cells, mut large) = (0, 0, 0, 0, 0);
    for case in cases {
        let place = case["path"].as_str().expect("path");
        let before = events;
        for event in lines(&found, &format!("{place}/events.jsonl")) {
            inners += usize::from(check_event(place, &found, &event));
            events += 1;
        }
        if Some(events - before) != case["proved"]["events"].as_u64() {
            fail(format!("{place}: {} events", events - before));
        }
        for row in lines(&found, &format!("{place}/rows.jsonl")) {
            let (more, big) = check_row(place, &row);
            (cells, large, rows) = (cells + more, large + big, rows + 1);
        }
    }
    println!(
        "{} cases, {events} events, {inners} of them inside payloads, {rows} rows, {cells} cells, \
         {large} integers beyond 2^53",
        cases.len()
    );
}
