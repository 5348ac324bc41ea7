"""The one error that a request can end with."""


class Refusal(Exception):
    """A request that is answered with an error.

    E2B's client shows only the status line of most errors, so the message travels in the reason phrase too (connection.py).
    """

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status
        self.message = message
