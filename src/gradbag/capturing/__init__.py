"""What a model did with its tables, step by step: recorded while it trains, and read afterwards.

`seen` has the record and `lookups` what is kept of a look-up and of a gradient; `summary` works out what people ask,
`report` shows it on the terminal and the studio in the browser; `files` has the form in which a record is saved. The
frameworks' own parts, which see look-ups and gradients, stand in their adapters.
"""

from .seen import Seen, capture

__all__ = ["Seen", "capture"]
