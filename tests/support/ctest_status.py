"""unittest.main() for ctest, to which a run of which every test was skipped is skipped, and has not passed; and one of no test
at all has failed."""

import sys
import unittest

SKIPPED = 77  # ctest's SKIP_RETURN_CODE


class Result(unittest.TextTestResult):
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1


class Runner(unittest.TextTestRunner):
    resultclass = Result


def main():
    result = unittest.main(testRunner=Runner, exit=False).result
    # A class that is skipped as a whole has run no test, and stands among the skipped.
    if not result.wasSuccessful() or (result.testsRun == 0 and not result.skipped):
        sys.exit(1)
    sys.exit(0 if result.passed else SKIPPED)
