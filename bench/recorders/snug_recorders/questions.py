"""What a recorder's own commands answer, as of snug 0.1, heaptrack 1.4 and memray 1.20: by their --help, manuals and files.

An answer counts if the recorder's own commands give it of what it has written; "est." is an estimate by samples.
"""

COLUMNS = ("snug record --stacks", "snug's profile", "heaptrack", "memray")

# A question, and the answer of each of COLUMNS.
QUESTIONS: tuple[tuple[str, tuple[str, str, str, str]], ...] = (
    ("which code holds the memory at the peak", ("yes", "est.", "yes", "yes")),
    ("which code's blocks are live at the end", ("yes", "est.", "yes", "yes")),
    ("which code's blocks are freed at once", ("yes", "no", "yes", "yes")),
    ("each call counted, none sampled", ("yes", "no", "yes", "yes")),
    ("what is live over time", ("yes", "no", "yes", "yes")),
    ("what is resident over time", ("yes", "no", "the peak", "yes")),
    ("the program's own mmap", ("yes", "no", "no", "yes")),
    ("which thread allocates", ("yes", "no", "no", "yes")),
    ("which thread frees whose blocks", ("yes", "no", "no", "no")),
    ("what rounding up to size classes wastes", ("yes", "no", "no", "no")),
    ("what another allocator would take for the same calls", ("yes", "no", "no", "no")),
    ("two recordings compared", ("yes", "yes", "yes", "no")),
    ("limits for tests", ("yes", "no", "no", "by pytest-memray")),
    ("suppressions of leaks, as LeakSanitizer has them", ("yes", "no", "yes", "no")),
    ("Python's own frames", ("from 3.12 on", "from 3.12 on", "no", "yes")),
    ("Python's small objects", ("PYTHONMALLOC=malloc", "PYTHONMALLOC=malloc", "PYTHONMALLOC=malloc", "by an option")),
    ("native frames", ("yes", "yes", "yes", "by --native")),
    ("code without frame pointers", ("yes", "yes", "yes", "by --native")),
    ("programs that are not Python", ("yes", "yes", "yes", "no")),
    ("the program keeps its own allocator", ("yes", "no", "yes", "yes")),
    ("children of a fork", ("yes", "yes", "no", "by --follow-fork")),
    ("programs that it executes", ("yes", "yes", "no", "no")),
    ("attached to a process that runs", ("no", "if it runs on snug", "by a debugger", "by a debugger")),
    ("looked at while the process runs", ("leaks, on a signal", "yes", "no", "yes")),
    ("cost when off", ("none", "none", "none", "none")),
    ("opens in pprof", ("yes", "yes", "no", "no")),
    ("looked at in", ("a browser", "pprof", "heaptrack_gui", "a browser, a terminal")),
)
