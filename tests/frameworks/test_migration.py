"""Every cell and block of the migration page is executed, and those of a row give the same numbers."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf
import torch

import gradbag
import gradbag.jax
import gradbag.tensorflow
import gradbag.torch

TEXT = (Path(__file__).parents[2] / "docs" / "migration.md").read_text(encoding="utf-8")
TENSORS = {"tensorflow": tf.constant, "torch": torch.tensor, "jax": jnp.asarray}
HEADS = {"gradbag in PyTorch": "torch", "gradbag in JAX": "jax"}


def names(framework: str) -> dict[str, Any]:
    """What the page has introduced, in tensors of a framework."""
    plain: dict[str, Any] = {}
    exec(re.search(r"```python\n(.*?)```", TEXT, re.DOTALL).group(1), plain)  # type: ignore[union-attr]  # noqa: S102
    arrays = {name: value for name, value in plain.items() if isinstance(value, np.ndarray)}
    found = {name: TENSORS[framework](value) for name, value in arrays.items()}
    sparse = tf.SparseTensor if framework == "tensorflow" else gradbag.SparseTensor
    found["sp_ids"] = sparse(arrays["places"], found["ids"], [4, 3])
    found["sp_weights"] = sparse(arrays["places"], found["weights"], [4, 3])
    modules = {"F": torch.nn.functional, "gradbag": gradbag, "jax": jax, "jnp": jnp, "tf": tf, "torch": torch}
    return {**found, **modules}


def numbers(value: Any) -> np.ndarray[Any, Any]:
    return np.asarray(value.detach() if isinstance(value, torch.Tensor) else value)


def rows() -> Iterator[Any]:
    framework = ""
    for line in TEXT.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 3:
            if cells[1] in HEADS:
                framework = HEADS[cells[1]]
            else:
                yield pytest.param(framework, *cells, id=f"{framework}: {cells[1].strip('`')[:60]}")


def code(cell: str) -> str:
    found = re.fullmatch(r"(?:raises )?`(.*)`", cell)
    assert found, f"no code in the cell {cell!r}"
    return found.group(1)


@pytest.mark.parametrize(("framework", "theirs", "ours", "alone"), list(rows()))
def test_a_row_gives_the_same_numbers(framework: str, theirs: str, ours: str, alone: str) -> None:
    expected = numbers(eval(code(theirs), names("tensorflow")))  # noqa: S307  # our own text
    given = names(framework)
    answer = eval(code(ours), given)  # noqa: S307
    assert isinstance(answer, torch.Tensor if framework == "torch" else jax.Array)
    np.testing.assert_allclose(numbers(answer), expected, rtol=1e-6)
    if alone.startswith("raises"):
        with pytest.raises((ValueError, NotImplementedError)):
            eval(code(alone), given)  # noqa: S307
    elif alone != "nothing":
        np.testing.assert_allclose(numbers(eval(code(alone), given)), expected, rtol=1e-6)  # noqa: S307


def sections() -> Iterator[Any]:
    for section in TEXT.split("\n### ")[1:]:
        blocks = re.findall(r"```python (\w+)(?: raises (\w+))?\n(.*?)```", section, re.DOTALL)
        yield pytest.param(blocks, id=section.splitlines()[0])


@pytest.mark.parametrize("blocks", list(sections()))
def test_the_blocks_of_a_heading_give_the_same_answer(blocks: list[tuple[str, str, str]]) -> None:
    answers = []
    for framework, problem, block in blocks:
        given = names(framework)
        program = compile(block, "migration.md", "exec")
        if problem:
            with pytest.raises({"LookupError": LookupError, "RuntimeError": RuntimeError}[problem]):
                exec(program, given)  # noqa: S102
        else:
            exec(program, given)  # noqa: S102
            answers.append(numbers(given["answer"]))
    assert len(answers) >= 2
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], rtol=1e-5)


def test_the_page_is_read() -> None:
    assert len(list(rows())) >= 15
    assert len(list(sections())) >= 2
