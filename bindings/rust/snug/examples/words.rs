//! Counts the words of standard input, and says what that took of the allocator: `cargo run --example words < README.md`.

use std::collections::HashMap;
use std::io::{self, Read};

#[global_allocator]
static GLOBAL: snug::Snug = snug::Snug;

fn main() -> io::Result<()> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let mut counts: HashMap<String, usize> = HashMap::new();
    for word in text.split_whitespace() {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    let mut words: Vec<_> = counts.into_iter().collect();
    words.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    for (word, count) in words.iter().take(10) {
        println!("{count:6} {word}");
    }
    let stats = snug::stats();
    println!(
        "snug {}: {} allocations, {} bytes in use",
        snug::version(),
        stats.allocations,
        stats.bytes_in_use
    );
    Ok(())
}
