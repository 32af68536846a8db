"""The files that the checks of the house look at."""

import shutil
import subprocess
from pathlib import Path


def repository_files(root: Path) -> list[str]:
    """What git tracks or would track; every file if `root` is no git work tree, or there is no git to ask."""
    git = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    if (root / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(git, check=True, capture_output=True, text=True).stdout.split("\0")
    else:
        listed = [str(path.relative_to(root)) for path in root.rglob("*")]
        listed = [path for path in listed if not path.startswith("build/")]
    return sorted(path for path in listed if path and (root / path).is_file())
