//! The build script, as cargo runs it for several targets on a copy of the crate: what it compiles, and what it says where it cannot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A copy of the workspace, with a snug.cpp that is compiled in no time, and a compiler that writes down what it is told.
struct Copy {
    folder: PathBuf,
}

const MUSL: &str = "x86_64-unknown-linux-musl";
const GNU: &str = "x86_64-unknown-linux-gnu";

impl Copy {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&folder);
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for file in [
            "Cargo.toml",
            "Cargo.lock",
            "snug/Cargo.toml",
            "snug-sys/Cargo.toml",
            "snug-sys/build.rs",
        ] {
            let to = folder.join(file);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(workspace.join(file), to).unwrap();
        }
        for crate_ in ["snug", "snug-sys"] {
            fs::create_dir(folder.join(crate_).join("src")).unwrap();
            fs::write(folder.join(crate_).join("src/lib.rs"), "#![no_std]\n").unwrap();
        }
        Self { folder }
    }

    fn with_source(name: &str) -> Self {
        let copy = Self::new(name);
        fs::create_dir(copy.folder.join("snug-sys/amalgamation")).unwrap();
        fs::write(
            copy.folder.join("snug-sys/amalgamation/snug.cpp"),
            "int snug_one() { return 1; }\n",
        )
        .unwrap();
        copy
    }

    /// What cargo prints, and what the compiler was told for snug.cpp. Whether Rust's own libraries are there for the target is of
    /// no matter: the script runs before they are looked for.
    fn check(&self, target: &str, flags: &str, compiler: &str) -> (String, String) {
        let (script, words) = (self.folder.join("compiler"), self.folder.join("words"));
        let text = format!(
            "#!/bin/sh\ncase $* in *snug.cpp*) echo \"$*\" >>'{}' ;; esac\n{compiler}\n",
            words.display()
        );
        fs::write(&script, text).unwrap();
        let made = Command::new("chmod").arg("+x").arg(&script).status();
        assert!(made.unwrap().success());
        let _ = fs::remove_file(&words);
        // An older cargo does not run the script again for other flags.
        let _ = fs::remove_dir_all(self.folder.join("target").join(target));
        let output = Command::new(env!("CARGO"))
            .args([
                "check",
                "--offline",
                "--locked",
                "--package=snug-sys",
                "--target",
                target,
            ])
            .arg("--target-dir")
            .arg(self.folder.join("target"))
            .current_dir(&self.folder)
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env_remove("CARGO_BUILD_TARGET")
            .env("RUSTFLAGS", flags)
            .env(format!("CFLAGS_{target}"), "-O2 -flto=auto")
            .env(format!("CC_{target}"), &script)
            .env(format!("AR_{target}"), "ar")
            .output()
            .unwrap();
        (
            String::from_utf8_lossy(&output.stderr).into_owned(),
            fs::read_to_string(&words).unwrap_or_default(),
        )
    }
}

#[test]
fn a_program_is_static_for_musl_and_where_rustc_is_told() {
    let copy = Copy::with_source("static");
    for (target, flags, is_static) in [
        (MUSL, "", true),
        (MUSL, "-Ctarget-feature=+crt-static", true),
        (GNU, "", false),
        (GNU, "-Ctarget-feature=+crt-static", true),
    ] {
        let (said, words) = copy.check(target, flags, "exec cc \"$@\"");
        assert!(words.contains("-std=c++20"), "{target} {flags}: {said}");
        let defines = words.contains("-DSNUG_STATIC");
        assert_eq!(defines, is_static, "{target} {flags}: {words}");
    }
}

#[test]
fn flags_of_the_environment_do_not_leave_it_to_the_linker_to_compile() {
    let (said, words) = Copy::with_source("whole").check(GNU, "", "exec cc \"$@\"");
    let asked = words
        .split_whitespace()
        .filter(|word| word.starts_with("-f") && word.contains("lto"));
    assert_eq!(
        asked.collect::<Vec<_>>(),
        ["-flto=auto", "-fno-lto"],
        "{said}"
    );
}

#[test]
fn other_systems_and_32_bits_are_refused_by_one_line() {
    let copy = Copy::with_source("refused");
    for (target, what) in [
        (
            "x86_64-apple-darwin",
            "the target is macos with pointers of 64 bits",
        ),
        (
            "i686-unknown-linux-gnu",
            "the target is linux with pointers of 32 bits",
        ),
    ] {
        let (said, words) = copy.check(target, "", "exec cc \"$@\"");
        let line = format!("snug is for 64-bit Linux, and {what}");
        assert!(said.lines().any(|one| one.trim() == line), "{said}");
        assert_eq!(words, "");
    }
}

#[test]
fn a_crate_without_its_source_says_where_that_is_packed() {
    let (said, words) = Copy::new("vendored").check(GNU, "", "exec cc \"$@\"");
    assert!(said.contains("amalgamation/snug.cpp"), "{said}");
    assert!(said.contains("bindings/rust/package"), "{said}");
    assert_eq!(words, "");
}

#[test]
fn a_compiler_that_cannot_is_named_with_what_it_lacks() {
    let copy = Copy::with_source("lacking");
    // As GCC without the package g++ does.
    let (said, words) = copy.check(
        GNU,
        "",
        "case $* in
          -print-prog-name=cc1plus) echo cc1plus ;;
          *snug.cpp*) echo \"cc: fatal error: cannot execute 'cc1plus'\" >&2; exit 1 ;;
          *) exec cc \"$@\" ;;
        esac",
    );
    assert!(!words.is_empty(), "{said}");
    assert!(
        said.contains("has no part for that (cc1plus): install it"),
        "{said}"
    );
    // As an old one.
    let old = "case $* in *snug.cpp*) exit 1 ;; *) exec cc \"$@\" ;; esac";
    let (said, _) = Copy::with_source("old").check(GNU, "", old);
    assert!(
        said.contains("has not compiled snug.cpp: that takes GCC 12"),
        "{said}"
    );
}
