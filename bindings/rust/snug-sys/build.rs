//! Compiles snug.cpp: the one that the package carries or, in snug's own tree, one that scripts/amalgamate writes of it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn main() {
    let told = |name: &str| env::var(name).unwrap_or_default();
    let (system, width) = (
        told("CARGO_CFG_TARGET_OS"),
        told("CARGO_CFG_TARGET_POINTER_WIDTH"),
    );
    if let Some(reason) = unsupported(&system, &width) {
        panic!("{reason}");
    }
    let folder = folder_of_source();
    if let Some(reason) = missing(&folder) {
        panic!("{reason}");
    }
    compile_for_any_linker();
    let mut build = cc::Build::new();
    // By the C compiler: it takes the language from the file's name, and names no C++ library to the linker. Of GCC that takes
    // the part that compiles C++ (cc1plus), which is not in every package of the C compiler.
    build
        .file(folder.join("snug.cpp"))
        .flag("-std=c++20")
        .flag("-nostdinc++")
        .flag("-fno-rtti")
        .force_frame_pointer(false)
        .warnings(false);
    // An allocator without optimisation makes a debug build several times slower, and nobody debugs it there.
    if matches!(told("OPT_LEVEL").as_str(), "0" | "1") {
        build.opt_level(2);
    }
    let is_musl = told("CARGO_CFG_TARGET_ENV") == "musl";
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
    // For musl programs are linked statically unless rustc is told otherwise, and cargo does not say so here: it asks rustc for
    // all kinds of crates at once, among them those that never are, and gets no crt-static but by RUSTFLAGS. A dynamic program
    // loses nothing but the moments at which the background thread starts and is sent away.
    let features = told("CARGO_CFG_TARGET_FEATURE");
    if is_musl || features.split(',').any(|feature| feature == "crt-static") {
        build.define("SNUG_STATIC", None);
    }
    if let Err(error) = build.try_compile("snug") {
        match build.try_get_compiler() {
            Ok(compiler) => panic!("{}\n{error}", not_compiled(&compiler)),
            Err(error) => panic!("snug.cpp takes a C compiler, which is not there: {error}"),
        }
    }
    // For crates that include snug.h: DEP_SNUG_INCLUDE.
    println!("cargo:include={}", folder.display());
}

/// Distributions build with -flto, of which GCC makes objects that Rust's linker finds nothing in. What the environment says comes
/// behind the flags of this script.
fn compile_for_any_linker() {
    for (name, flags) in env::vars_os() {
        if let (Some(name), Some(flags)) = (name.to_str(), flags.to_str()) {
            if name.contains("CFLAGS") {
                env::set_var(name, format!("{flags} -fno-lto"));
            }
        }
    }
}

/// Why there is no snug for such a target. `width` is of a pointer, in bits.
fn unsupported(system: &str, width: &str) -> Option<String> {
    (system != "linux" || width != "64").then(|| {
        format!(
            "snug is for 64-bit Linux, and the target is {system} with pointers of {width} bits"
        )
    })
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

/// Why there is nothing to compile. A git repository has no snug.cpp, and of one that is vendored the rest of the tree is gone.
fn missing(folder: &Path) -> Option<String> {
    let file = folder.join("snug.cpp");
    (!file.is_file()).then(|| {
        format!(
            "there is no {}: the crate is out of snug's tree and was not packed; bindings/rust/package in that tree packs it \
             (target/package/snug-sys-*.crate), and that crate is what can be vendored or copied",
            file.display()
        )
    })
}

/// What compiling takes, where it has failed; the compiler's own words stand before it.
fn not_compiled(compiler: &cc::Tool) -> String {
    let name = compiler.path().display();
    let part = Command::new(compiler.path())
        .arg("-print-prog-name=cc1plus")
        .output();
    // GCC answers with the path of the part, or with the bare name if it has none.
    let has_none = |answer: Output| String::from_utf8_lossy(&answer.stdout).trim() == "cc1plus";
    if compiler.is_like_gnu() && part.is_ok_and(has_none) {
        return format!(
            "snug.cpp is C++, and {name} has no part for that (cc1plus): install it (Debian: g++; Fedora: gcc-c++)"
        );
    }
    format!(
        "{name} has not compiled snug.cpp: that takes GCC 12 with its part for C++ (cc1plus; Debian: g++) or Clang 19, or later"
    )
}
