"""The Rust crate's example of a profile: what its sampler counts, and what `snug profile` reads out of the file that it writes.

    test_rust_example.py SNUG TREE FOLDER

Builds it in FOLDER. Skipped where there is no cargo, or where it cannot have the crates that snug's build upon.
"""

import json
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77


def main(tool, tree, folder):
    manifest = f"{tree}/bindings/rust/Cargo.toml"
    cargo = shutil.which("cargo")
    if cargo is None:
        print("skipped: no cargo")
        return SKIPPED
    fetched = subprocess.run([cargo, "fetch", "--locked", "--manifest-path", manifest], capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        print(f"skipped: cargo cannot have the crates: {fetched.stderr}")
        return SKIPPED
    profile = f"{folder}/heap.pb"
    environment = {**os.environ, "CARGO_TARGET_DIR": folder, "RUSTFLAGS": "-Cforce-frame-pointers=yes",
                   "CARGO_PROFILE_RELEASE_DEBUG": "line-tables-only"}
    environment.pop("SNUG_CONF", None)
    process = subprocess.run([cargo, "run", "--locked", "--offline", "--release", "--manifest-path", manifest, "--example", "profile",
                              "--", profile], env=environment, capture_output=True, text=True, check=False)
    print(process.stdout, process.stderr)
    live = {task: float(megabytes) for task, megabytes in re.findall(r"^(.*): ([\d.]+) MB live$", process.stdout, re.M)}
    subprocess.run([tool, "profile", "--show", profile, "--json", f"{profile}.json"], check=True, stdout=subprocess.DEVNULL)
    with open(f"{profile}.json", encoding="utf-8") as file:
        stacks = json.load(file)["stacks"]

    def below(function, measure):
        """MB of the stacks that have the function."""
        return sum(stack[measure]["bytes"] for stack in stacks if any(function in frame for frame in stack["stack"])) / 1e6

    good = process.returncode == 0
    # Blocks of 1000 bytes, which count as 1008, and the arrays of their owners. A thousand samples and more for 32 MB, 500 for 16.
    for what, value, wanted in (("reader", live.get("reader", 0), 33.8), ("indexer", live.get("indexer", 0), 16.9),
                                ("in the end", live.get("in the end", 99), 0), ("read_all", below("read_all", "live"), 33.8),
                                ("index", below("profile::index", "live"), 16.9)):
        is_right = abs(value - wanted) <= wanted * 0.25 + 0.5
        print(f"{'ok' if is_right else 'OFF'}: {what}: {value:.1f} MB, {wanted} wanted")
        good = good and is_right
    allocated = below("profile::index", "allocated")
    print(f"index, allocated: {allocated:.1f} MB")
    return 0 if good and allocated > 60 else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
