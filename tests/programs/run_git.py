"""run_git.py: git makes a repository of 2000 files, commits, packs and checks it; every hash must be equal."""

from service import Trial, libraries_from_arguments, need

FILES = 2000
DATE = "2024-01-02T03:04:05+0000"


def contents(number: int, edition: int) -> str:
    return "".join(f"line {line * number % 977} of file {number}, edition {edition if line % 9 == 0 else 0}\n"
                   for line in range(number % 90 + 1))


def main() -> None:
    trial = Trial(libraries_from_arguments())
    git = need("git")
    result = {}
    for allocator in trial.all:
        tree = allocator.folder / "tree"
        tree.mkdir()

        def call(*arguments: str) -> str:
            return allocator.run(git, *arguments, cwd=tree, GIT_AUTHOR_DATE=DATE, GIT_COMMITTER_DATE=DATE,
                                 GIT_CONFIG_NOSYSTEM="1", GIT_AUTHOR_NAME="A", GIT_AUTHOR_EMAIL="a@example.org",
                                 GIT_COMMITTER_NAME="A", GIT_COMMITTER_EMAIL="a@example.org")

        call("init", "-q", "-b", "main")
        call("config", "gc.auto", "0")
        said = ""
        for edition in (1, 2):
            for number in range(FILES):
                path = tree / f"d{number % 37}" / f"f{number}.txt"
                path.parent.mkdir(exist_ok=True)
                path.write_text(contents(number, edition))
            call("add", ".")
            call("commit", "-q", "-m", f"edition {edition}")
        said += call("log", "--stat", "--format=%H %T %s")
        call("gc", "-q", "--no-prune")
        call("fsck", "--full", "--strict")
        said += call("rev-parse", "HEAD", "HEAD^{tree}", "HEAD~1")
        said += call("diff", "HEAD~1", "HEAD")
        said += call("blame", "d5/f1115.txt")
        said += call("grep", "-c", "file 19[0-9],", "HEAD~1")
        result[allocator.name] = said
    trial.expect_equal("hashes, log, diff and blame", result)
    # Delta search and the index's threads share work as they please, within bounds.
    trial.expect_service(("git",))
    trial.close()


main()
