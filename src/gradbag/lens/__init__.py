"""The row lens: all that feeds an entry of a value, and all that it feeds, entry by entry through a page's nodes.

A set of entries is a mask of their value. `walk` carries masks along the wires, up from the entry and then down from
it, and asks each node on its way one question (`call`): which entries of the inputs decide some entries of the outputs
(`back`), or which entries of the outputs some entries of the inputs decide (`forth`).

No op is known here. A node's answer comes from three sources:

- The declaration (`declared`) tells which inputs are settings, of which no entry counts, which are lists of records,
  and which have a gradient. What has one is followed as doubles, be it whole numbers, bools or strings (`trials`).
- The rule of gradients, where there is one: random numbers go in where the mask is lit, and what comes out as
  something else than zero belongs to it. That is exact, and one call for a whole mask.
- The op itself, where there is none, say for indices (`probing`): one record or entry after the other is changed to
  something else that the op takes (`alternatives`) or left out, and what then comes out differently (`masks`)
  depended on it. Going back, many records are left out at once, and all are dismissed if nothing lit changes.

A walk meets each node once, so nothing is kept from one question for another; a call only keeps the few inputs that it
tries again and again. A budget of calls and seconds ends the trying, and the answer says where.
"""

from .walk import look

__all__ = ["look"]
