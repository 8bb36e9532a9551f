"""The commands, one file each: `run` does it and gives the exit code.

0 means that all went well, 1 that a run, a check or a comparison failed, 2 that the command made no sense.
"""


class UsageError(Exception):
    """What was typed cannot be meant."""
