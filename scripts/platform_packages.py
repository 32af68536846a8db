"""Debian's packages that scripts/check_platforms takes and the machine need not have: fetched into build/platform-roots, verified by
apt, with lists of packages of their own, so that the machine's stay as they are. Each returns why there is none, or nothing."""

import subprocess
from pathlib import Path

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
BUSYBOX = f"deb-src [signed-by={KEYS}] http://deb.debian.org/debian bookworm main\n"


def ask_apt(folder: Path, settings: list[str], wish: str, *words: str) -> str:
    """Runs apt-get with these words in the folder, where it leaves what it gets."""
    for needed in ("lists/partial", "cache/archives/partial"):
        (folder / needed).mkdir(parents=True, exist_ok=True)
    settings = [*settings, f"Dir::State::lists={folder}/lists", f"Dir::Cache={folder}/cache", "Dir::State::status=/dev/null",
                "APT::Sandbox::User=root"]
    options = [word for setting in settings for word in ("-o", setting)]
    for command in (["update"], [*words]):
        try:
            done = subprocess.run(["apt-get", *options, "-qq", *command], cwd=folder, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL)
        except FileNotFoundError:
            return f"no apt-get here to get {wish} with"
        if done.returncode != 0:
            return f"apt-get cannot get {wish}: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}"
    return ""


def fetch_arm_musl(root: Path) -> str:
    """Puts Debian's musl for AArch64 where qemu-user looks for it."""
    if (root / "lib").is_dir():
        return ""
    apt = root.parent / "apt-arm64"
    missing = ask_apt(apt, ["APT::Architecture=arm64", "APT::Architectures::=arm64"], "Debian's musl for arm64", "download", "musl:arm64")
    for package in apt.glob("*.deb") if not missing else ():
        subprocess.run(["dpkg", "-x", str(package), str(root)], check=True)
    return missing


def fetch_kernel(root: Path) -> str:
    """Puts a kernel of Debian's there, unpacked: of the flavour for virtual machines, which needs no modules to start."""
    if (root / "boot").is_dir():
        return ""
    apt = root.parent / "apt-kernel"
    missing = ask_apt(apt, [], "Debian's kernel", "download", "linux-image-cloud-amd64")
    if missing:
        return missing
    # A package that only names the newest one.
    [newest] = apt.glob("linux-image-cloud-*.deb")
    needs = subprocess.run(["dpkg-deb", "-f", str(newest), "Depends"], check=True, capture_output=True, text=True).stdout
    name = needs.split()[0]
    missing = ask_apt(apt, [], "Debian's kernel", "download", name)
    for package in apt.glob(f"{name}_*.deb") if not missing else ():
        subprocess.run(["dpkg", "-x", str(package), str(root)], check=True)
    return missing


def fetch_busybox(source: Path) -> str:
    """Puts the source of Debian's busybox there, with Debian's patches."""
    if source.is_dir():
        return ""
    apt = source.parent / "apt-source"
    apt.mkdir(parents=True, exist_ok=True)
    (apt / "sources.list").write_text(BUSYBOX)
    missing = ask_apt(apt, [f"Dir::Etc::sourcelist={apt}/sources.list", "Dir::Etc::sourceparts=/dev/null"], "busybox's source",
                      "source", "busybox")
    if not missing:
        [unpacked] = apt.glob("busybox-*/")
        unpacked.rename(source)
    return missing
