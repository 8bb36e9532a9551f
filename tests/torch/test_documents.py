"""What docs/frameworks.md shows of PyTorch is what happens."""

import re
from pathlib import Path

import torch


def test_the_blocks_run() -> None:
    text = (Path(__file__).parents[2] / "docs/frameworks.md").read_text(encoding="utf-8")
    blocks = [b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "import torch" in b]
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "frameworks.md", "exec"), names)  # noqa: S102  # our own text
    bag, compiled = names["bag"], names["compiled"]
    assert bag.weight.grad.is_coalesced()  # type: ignore[attr-defined]
    assert bag.weight.grad.indices().tolist() == [[3, 17, 900]]  # type: ignore[attr-defined]
    assert isinstance(compiled, torch.Tensor)
    assert torch.equal(compiled, bag(names["ids"], names["offsets"]))  # type: ignore[operator]
