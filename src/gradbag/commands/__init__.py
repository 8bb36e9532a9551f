"""The commands, one file each: `add` describes its arguments, `run` does it and gives the exit code.

0 means that all went well, 1 that a run, a check or a comparison failed, 2 that the command made no sense.
"""
