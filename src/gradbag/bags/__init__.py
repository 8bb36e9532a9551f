"""Bags of ids: one container for ragged data, whichever library it comes from."""

from .bags import Bags
from .ragged import Bag

__all__ = ["Bag", "Bags"]
