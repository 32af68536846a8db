//! A heap for each tenant, with a limit, which ends with all that it holds: `cargo run --example tenants`.

use std::alloc::Layout;
use std::io;

use snug::{Heap, HeapOptions, Levels};

/// Texts that lie in the tenant's heap. They end with it.
struct Tenant {
    heap: Heap,
    texts: Vec<(*mut u8, usize)>,
}

impl Tenant {
    fn new(name: &str) -> io::Result<Self> {
        let heap = HeapOptions::new().name(name).limit(1 << 20).create()?;
        let texts = Vec::new();
        Ok(Self { heap, texts })
    }

    /// Whether there was room.
    fn keep(&mut self, text: &str) -> bool {
        let layout = Layout::for_value(text);
        let Some(block) = self.heap.alloc(layout) else {
            return false;
        };
        // Safety: the block is as long as the text, and nobody else's.
        unsafe {
            block
                .as_ptr()
                .copy_from_nonoverlapping(text.as_ptr(), text.len())
        };
        self.texts.push((block.as_ptr(), text.len()));
        true
    }

    fn get(&self, index: usize) -> Option<&str> {
        let &(start, length) = self.texts.get(index)?;
        // Safety: the text was copied there, and lives as long as the heap, which this borrows.
        Some(unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(start, length)) })
    }
}

fn main() -> io::Result<()> {
    let _callback = snug::on_pressure(Levels::HARD, |pressure| {
        println!(
            "{} bytes of {:?} are held",
            pressure.held(),
            pressure.limit()
        );
        false
    })?;
    for name in ["red", "blue"] {
        let mut tenant = Tenant::new(name)?;
        while tenant.keep("a text of this tenant's") {}
        println!(
            "{}: {} texts, as {:?}; {} bytes held",
            tenant.heap.name(),
            tenant.texts.len(),
            tenant.get(0),
            tenant.heap.stats().bytes_held
        );
    }
    Ok(())
}
