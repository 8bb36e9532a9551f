"""What a framework does not promise to keep is used in the `compat` of its adapter and nowhere else."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import gradbag

SOURCE = Path(gradbag.__file__).parent
FILES = [path for path in SOURCE.rglob("adapters/*/*.py") if path.name != "compat.py"]
FILES += [*SOURCE.glob("torch/*.py"), SOURCE / "jax.py", SOURCE / "tensorflow.py"]
ROOTS = {"torch": "torch", "nn": "torch", "jax": "jax", "jnp": "jax", "jaxlib": "jax", "tf": "tf", "tensorflow": "tf"}
# Beside names that begin with _, the parts that have no promise.
OPEN = {"torch": (), "jax": ("jax.core", "jax.extend", "jax.interpreters", "jaxlib"), "tf": ("tensorflow.python",)}


def names(tree: ast.AST) -> Iterator[str]:
    """Every dotted name of a framework: what is imported, and attributes of what is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield ast.unparse(node)


def private(source: str) -> set[str]:
    found = set()
    for name in names(ast.parse(source)):
        root, *rest = name.split(".")
        if root in ROOTS and (any(part.startswith("_") for part in rest) or name.startswith(OPEN[ROOTS[root]])):
            found.add(name)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_private_name_is_used_outside_of_compat(path: Path) -> None:
    assert private(path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize("framework", ["torch", "jax", "tensorflow"])
def test_a_private_name_would_be_found(framework: str) -> None:
    assert private((SOURCE / "adapters" / framework / "compat.py").read_text(encoding="utf-8"))
