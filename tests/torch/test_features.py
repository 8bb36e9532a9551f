"""What docs/pytorch.md says of PyTorch and of gradbag, line by line."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import gradbag.torch

TEXT = (Path(__file__).parents[2] / "docs" / "pytorch.md").read_text(encoding="utf-8")
NAMES = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
LINES = re.findall(r"^\|[^|]*\| `(.+)` \| (yes|no) \| (yes|no) \|$", TEXT, re.MULTILINE)
LIBRARIES = [
    {"EmbeddingBag": nn.EmbeddingBag, "F": nn.functional},
    {"EmbeddingBag": gradbag.torch.EmbeddingBag, "F": gradbag.torch.functional},
]


def test_the_table_is_read() -> None:
    assert len(NAMES) > 2
    assert len(LINES) == TEXT.count("| yes |") + TEXT.count("| no | no |")
    assert len(LINES) > 40


@pytest.mark.parametrize("block", NAMES[1:])
def test_a_block_runs(block: str) -> None:
    names = {"gradbag": gradbag, "torch": torch}
    exec(compile(block, "docs/pytorch.md", "exec"), names)  # noqa: S102  # our own text


def answer(code: str, library: dict[str, Any]) -> Any:
    names = {**library, "gradbag": gradbag}
    exec(compile(NAMES[0], "docs/pytorch.md", "exec"), names)  # noqa: S102  # our own text
    return eval(code, names)  # noqa: S307


@pytest.mark.filterwarnings("ignore:.*nested tensors:UserWarning", "ignore:There is a performance drop:UserWarning")
@pytest.mark.parametrize(("code", "theirs", "ours"), LINES, ids=[line[0] for line in LINES])
def test_a_line(code: str, theirs: str, ours: str) -> None:
    torch._dynamo.reset()
    answers = []
    for says, library in zip((theirs, ours), LIBRARIES, strict=True):
        if says == "yes":
            answers.append(answer(code, library))
        else:
            with pytest.raises((RuntimeError, ValueError, TypeError, AttributeError, NotImplementedError)):
                answer(code, library)
    if len(answers) == 2:
        torch.testing.assert_close(answers[1], answers[0])
