//! json DOCUMENTS THREADS: orders as JSON are parsed, changed and written again, as a service does with what comes in.

use std::fmt::Write;

use jobs::{argument, hash_of, Chance};
use rayon::prelude::*;
use serde_json::{json, Map, Value};

const BATCH: usize = 64; // documents that are alive at once in a thread

fn main() {
    let (documents, threads) = (argument(1), argument(2));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let batches = documents.div_ceil(BATCH);
    let (bytes, sum) =
        pool.install(|| (0..batches).into_par_iter().map(batch).reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1.wrapping_add(b.1))));
    println!("{} documents, {bytes} bytes, {sum:016x}", batches * BATCH);
}

/// How many bytes were written, and the sum of their hashes.
fn batch(number: usize) -> (usize, u64) {
    let parsed: Vec<Value> = (0..BATCH).map(|each| serde_json::from_str(&order(number * BATCH + each)).expect("JSON")).collect();
    let written: Vec<String> = parsed.into_iter().map(|value| invoice(value).to_string()).collect();
    written.iter().fold((0, 0u64), |(bytes, sum), text| (bytes + text.len(), sum.wrapping_add(hash_of(text.as_bytes()))))
}

/// Text of 1 to 40 lines of an order.
fn order(number: usize) -> String {
    let mut chance = Chance::new(number as u64);
    let mut text =
        format!("{{\"id\":{number},\"customer\":{{\"name\":\"{}\",\"city\":\"{}\"}},\"lines\":[", chance.word(), chance.word());
    for line in 0..1 + chance.below(40) {
        let comma = if line == 0 { "" } else { "," };
        let (count, cents, void) = (1 + chance.below(9), chance.below(100_000), chance.below(4) == 0);
        write!(text, "{comma}{{\"article\":\"{}\",\"count\":{count},\"cents\":{cents},\"void\":{void},\"tags\":[", chance.word())
            .expect("text");
        for tag in 0..chance.below(5) {
            write!(text, "{}\"{}\"", if tag == 0 { "" } else { "," }, chance.word()).expect("text");
        }
        text += "]}";
    }
    text + "]}"
}

/// Without the lines that are void, in the order of their articles, and with what they make together.
fn invoice(mut order: Value) -> Value {
    let mut lines = std::mem::take(order["lines"].as_array_mut().expect("lines"));
    lines.retain(|line| line["void"] == false);
    lines.sort_by(|a, b| a["article"].as_str().cmp(&b["article"].as_str()));
    let mut tags = Map::new();
    let mut total = 0;
    for line in &lines {
        total += line["count"].as_u64().unwrap_or(0) * line["cents"].as_u64().unwrap_or(0);
        for tag in line["tags"].as_array().into_iter().flatten() {
            let articles = tags.entry(tag.as_str().unwrap_or("")).or_insert_with(|| json!([]));
            articles.as_array_mut().expect("articles").push(line["article"].clone());
        }
    }
    json!({"id": order["id"], "to": order["customer"].take(), "lines": lines, "tags": tags, "cents": total})
}
