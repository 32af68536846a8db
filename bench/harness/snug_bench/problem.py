"""Problem: something the user can put right. The command line prints it as one line and ends with its exit status."""


class Problem(Exception):
    """`str(problem)` says what is wrong and where, in one line."""

    def __init__(self, what: str, status: int = 2):
        super().__init__(what)
        self.status = status
