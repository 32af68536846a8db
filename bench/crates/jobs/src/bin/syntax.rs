//! syntax FOLDER THREADS FILES: parses so many .rs files of a folder into syntax trees, and writes them again, as tools for code do.

use std::path::{Path, PathBuf};

use jobs::{argument, hash_of};
use quote::ToTokens;
use rayon::prelude::*;

const GROUP: usize = 8; // files that are alive at once in a thread
const STACK: usize = 64 << 20; // a parser calls itself for what is nested

fn main() {
    let folder = std::env::args_os().nth(1).expect("a folder");
    let (threads, wanted) = (argument(2), argument(3));
    let mut files = Vec::new();
    find(Path::new(&folder), &mut files);
    files.sort();
    // From all over the folder; where it has fewer, they come again.
    let files: Vec<_> = (0..wanted).map(|number| files[number * 1009 % files.len()].clone()).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK).build().expect("threads");
    let (parsed, sum) =
        pool.install(|| files.par_chunks(GROUP).map(group).reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1.wrapping_add(b.1))));
    println!("{parsed} of {wanted} files, {sum:016x}");
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// How many of the files are Rust, and the sum of the hashes of what was written.
fn group(files: &[PathBuf]) -> (usize, u64) {
    let trees: Vec<syn::File> = files
        .iter()
        .filter_map(|file| std::fs::read_to_string(file).ok())
        .filter_map(|text| syn::parse_file(&text).ok())
        .collect();
    let written = trees.iter().map(|tree| hash_of(tree.to_token_stream().to_string().as_bytes()));
    (trees.len(), written.fold(0, u64::wrapping_add))
}
