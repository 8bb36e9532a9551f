"""What docs/frameworks.md shows of JAX is what happens, and the examples of `gradbag.jax` are right."""

import doctest
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import gradbag.jax


def test_the_blocks_run() -> None:
    text = (Path(__file__).parents[2] / "docs/frameworks.md").read_text(encoding="utf-8")
    blocks = [b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "import jax" in b]
    assert blocks
    names: dict[str, object] = {}
    with jax.enable_x64(False):
        for block in blocks:
            exec(compile(block, "frameworks.md", "exec"), names)  # noqa: S102  # our own text
    table = names["table"]
    assert isinstance(table, jax.Array)
    assert np.flatnonzero(np.asarray(table != 1).any(1)).tolist() == [3, 17, 900]
    assert isinstance(names["curvature"], jax.Array)
    assert names["curvature"].shape == (20, 16, 20, 16)


def test_the_examples_of_the_module_are_right() -> None:
    with jax.enable_x64(False):
        found = doctest.testmod(gradbag.jax, extraglobs={"jnp": jnp})
    assert found.attempted >= 12
    assert not found.failed
