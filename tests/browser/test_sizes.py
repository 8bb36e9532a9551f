"""Boxes have the sizes that page/boxes.py lays them out with."""

import json
from typing import Any

from gradbag import page as pages
from gradbag.page.boxes import boxes

from .desk import Desk

NODES: dict[str, Any] = {
    "table": {"op": "Const", "attrs": {"dtype": "float32", "value": [[1.0], [2.0]]}},
    "a_title_that_is_longer_than_its_op": {"op": "Neg", "in": {"x": {"from": "table"}}},
    "mean": {"op": "SparseSegmentMean", "in": {"data": {"from": "table"}, "indices": [0, 1], "segment_ids": [0, 0]}},
    "joined": {"op": "ConcatV2", "in": {"values": [{"from": "mean"}, [[3.0]]], "axis": 0}},
    "strange": {"op": "NotAnOp", "in": {"some": {"from": "joined"}}, "attrs": {"k": 1}},
    "stranger": {"op": "NotAnOp", "in": {"list": [{"from": "strange.left"}, {"from": "strange.right"}, 3]}},
}


def test_boxes_are_as_large_as_the_layout_thinks(own_desk: Desk) -> None:
    document = {"format": pages.FORMAT, "nodes": NODES}
    wanted = {name: [box.width, box.height] for name, box in boxes(pages.Page(document)).items()}
    own_desk.bring("sizes.page.json", json.dumps(document).encode())
    own_desk.block("stranger").wait_for()
    own_desk.come_to_rest()
    sizes = "blocks => Object.fromEntries(blocks.map(b => [b.dataset.node, [b.offsetWidth, b.offsetHeight]]))"
    assert own_desk.blocks.evaluate_all(sizes) == wanted
