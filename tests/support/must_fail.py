"""must_fail.py: a test that is to fail fails, and for the reason that was planted.

  must_fail.py WORDS COMMAND...   exit status 0 if the command ends with a status other than 0, and by no signal, having
                                  said WORDS, a regular expression, in which a dot matches the end of a line too

ctest knows either alone: WILL_FAIL takes any failure, and PASS_REGULAR_EXPRESSION any status.
"""

import re
import subprocess
import sys


def main(words: str, *command: str) -> int:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout, end="")
    faults = [] if done.returncode > 0 else [f"it ended with {done.returncode}"]
    if re.search(words, done.stdout, re.DOTALL) is None:
        faults.append(f"it has not said '{words}'")
    print("".join(f"must_fail: {fault}\n" for fault in faults), end="")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
