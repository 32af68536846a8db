"""unittest.main() for ctest, to which a run of which every test was skipped is skipped, and has not passed."""

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
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(0 if result.passed else SKIPPED)
