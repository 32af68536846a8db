//! Compiles snug.cpp: the one that the package carries or, in snug's own tree, one that scripts/amalgamate writes of it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let folder = folder_of_source();
    let mut build = cc::Build::new();
    // By the C compiler: it takes the language from the file's name, and names no C++ library to the linker.
    build
        .file(folder.join("snug.cpp"))
        .flag("-std=c++20")
        .flag("-nostdinc++")
        .flag("-fno-rtti")
        .force_frame_pointer(false)
        .warnings(false);
    // An allocator without optimisation makes a debug build several times slower, and nobody debugs it there.
    if matches!(env::var("OPT_LEVEL").as_deref(), Ok("0" | "1")) {
        build.opt_level(2);
    }
    let is_musl = env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("musl");
    if is_musl {
        // musl-tools brings musl's own headers; the kernel's are the same for every libc, and stand behind them.
        let arch = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
        for folder in [
            format!("/usr/include/{arch}-linux-gnu"),
            "/usr/include".to_owned(),
        ] {
            build.flag("-idirafter").flag(&folder);
        }
    }
    if env::var_os("CARGO_FEATURE_OVERRIDE").is_none() {
        build.define("SNUG_NO_MALLOC", None).flag("-fno-exceptions");
    }
    // For musl programs are linked statically unless rustc is told otherwise, and cargo does not say so here. A dynamic one
    // loses nothing but the moments at which the background thread starts and is sent away.
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    if is_musl || features.split(',').any(|feature| feature == "crt-static") {
        build.define("SNUG_STATIC", None);
    }
    build.compile("snug");
    // For crates that include snug.h: DEP_SNUG_INCLUDE.
    println!("cargo:include={}", folder.display());
}

fn folder_of_source() -> PathBuf {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let tree = package.join("../../..");
    let script = tree.join("scripts/amalgamate");
    // A package may lie anywhere, and what lies above it is not snug's to run.
    if package.ends_with("bindings/rust/snug-sys") && script.is_file() {
        return amalgamate(&tree, &script);
    }
    let carried = package.join("amalgamation");
    println!("cargo:rerun-if-changed={}", carried.display());
    carried
}

fn amalgamate(tree: &Path, script: &Path) -> PathBuf {
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for read in ["src", "include", "scripts/amalgamate"] {
        println!("cargo:rerun-if-changed={}", tree.join(read).display());
    }
    let status = Command::new(script).arg("-o").arg(&folder).status();
    match status {
        Ok(status) if status.success() => folder,
        other => panic!(
            "{} has not written snug.cpp ({other:?}); it takes python3",
            script.display()
        ),
    }
}
