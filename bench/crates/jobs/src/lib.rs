//! What the jobs share: numbers of chance that are the same everywhere, and a sum of texts that does not depend on their order.

extern crate contender;

use std::hash::Hasher;

/// Xorshift, 64 bits.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Chance((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// A word of 3 to 14 letters.
    pub fn word(&mut self) -> String {
        (0..3 + self.below(12)).map(|_| (b'a' + self.below(26) as u8) as char).collect()
    }
}

/// To be added to those of other texts, in any order.
pub fn hash_of(text: &[u8]) -> u64 {
    // Its keys are constants where it is made by new().
    let mut hasher = std::collections::hash_map::DefaultHasher::new();
    hasher.write(text);
    hasher.finish()
}

/// The argument at a place, counted from 1.
pub fn argument(place: usize) -> usize {
    std::env::args().nth(place).and_then(|text| text.parse().ok()).expect("a number as an argument")
}
