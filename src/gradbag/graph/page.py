"""`gradbag.page` under the name that it had first."""

from ..page import *  # noqa: F403
