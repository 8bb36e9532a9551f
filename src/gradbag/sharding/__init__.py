"""Tables in pieces on several hosts: who has a row, what travels, and how parts become whole bags.

All of it is NumPy and kernels; `gradbag.torch.ShardedEmbeddingBag` and `gradbag.ray.ShardedTable` run it on engines.
"""

from . import checkpoint
from .exchange import Entries, Feature, Part, Prepared, Wire, look_up, send_back
from .plan import ShardPlan
from .pooling import bag_gradient, divided, finish, owner_gradient, partial_sums, pool
from .routes import BagRoute, RowRoute, route_bags, route_rows
from .rows import shard_table
from .traffic import Traffic, traffic, zipf_ids

__all__ = [
    "BagRoute",
    "Entries",
    "Feature",
    "Part",
    "Prepared",
    "RowRoute",
    "ShardPlan",
    "Traffic",
    "Wire",
    "bag_gradient",
    "checkpoint",
    "divided",
    "finish",
    "look_up",
    "owner_gradient",
    "partial_sums",
    "pool",
    "route_bags",
    "route_rows",
    "send_back",
    "shard_table",
    "traffic",
    "zipf_ids",
]
