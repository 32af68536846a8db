"""misuse.py: one misuse, one tiny program, one exact message.

The program's first comment says what must come of it, up to an empty line or one that begins with the program's name:
`EXPECT abort: REGEX`, `EXPECT fault: REGEX`, `EXPECT told: REGEX`, where the process ends as it would, or
`EXPECT exit:`. {address} in the pattern stands for the address that the program itself announced on its standard output. `EXPECT abort with CONF: REGEX`
sets SNUG_CONF.

Usage: misuse.py LIBRARY PROGRAM SOURCE
"""

import os
import re
import signal
import subprocess
import sys


def main() -> None:
    library, program, source = sys.argv[1:]
    with open(source, encoding="utf-8") as text:
        expected = re.match(r"/\* EXPECT (abort|fault|told|exit)(?: with (\S+))?: ?(.*?)\n \*(?:\n| \w+\.cc?: )", text.read(), re.DOTALL)
    if not expected:
        sys.exit(f"{source} does not say what to expect")
    ending, configuration, pattern = expected.groups()
    pattern = pattern.replace("\n * ", " ")
    environment = {**os.environ, "SNUG_CONF": configuration or "", "LD_PRELOAD": library}
    run = subprocess.run([program], env=environment, capture_output=True, text=True)
    wanted = {"abort": -signal.SIGABRT, "fault": -signal.SIGSEGV, "told": 7, "exit": 0}[ending]
    lines = run.stderr.splitlines()
    # A guarded block's stacks; the message always names the allocating thread.
    if lines[1:] and configuration == "check:sample" and lines[1].startswith("snug: allocated by thread "):
        lines = [line for line in lines if not re.match(r"snug: (allocated|freed) by thread \d+:$|snug:   ", line)]
    elif ending != "exit" and configuration == "check:sample":
        lines.append("no stack")
    if ending != "exit":
        pattern = pattern.replace("{address}", re.escape(run.stdout.strip() or "no address"))
    complaints = []
    if run.returncode != wanted:
        complaints.append(f"ended with {run.returncode}, not {wanted}")
    if len(lines) != (ending != "exit"):
        complaints.append(f"{len(lines)} lines on stderr")
    if ending != "exit" and not any(re.fullmatch(pattern, line) for line in lines):
        complaints.append(f"no line matches {pattern}")
    print(f"stdout: {run.stdout!r}\nstderr: {run.stderr!r}")
    if complaints:
        sys.exit("; ".join(complaints))


main()
