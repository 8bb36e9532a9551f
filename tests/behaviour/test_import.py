"""What `import gradbag` needs, and what it leaves alone."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
FRAMEWORKS = ["torch", "jax", "tensorflow", "keras", "scipy", "rich", "google.protobuf"]
KERNELS = "gradbag.eager._kernels"
USE = """
import numpy, gradbag
pooled = gradbag.segment_mean([[1.0], [3.0]], [0, 1], [0, 0])
gradient = gradbag.grad(lambda t: (gradbag.segment_sum(t, [0, 0], [0, 0]) ** 2).sum())(numpy.ones((2, 1)))
print(pooled.tolist(), gradient.tolist(), gradbag.eager.available())
"""
BROKEN = """
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

class Broken(MetaPathFinder, Loader):
    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self) if name == "gradbag.eager._kernels" else None

    def exec_module(self, module):
        raise {error}

sys.meta_path.insert(0, Broken())
import gradbag
"""


def test_import_touches_no_framework(python: Any) -> None:
    done = python("import gradbag; print([m for m in sys.argv[1:] if m in sys.modules])", *FRAMEWORKS)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_graphs_know_nothing_of_pages_but_their_former_name(python: Any) -> None:
    program = """
import gradbag.graph
before = sorted(name for name in sys.modules if name.startswith("gradbag.page"))
from gradbag.graph.page import load
print(before, load is gradbag.graph.page.load is gradbag.page.load, hasattr(gradbag.graph, "pages"))
"""
    done = python(program)
    assert (done.stdout.strip(), done.stderr) == ("[] True False", "")


def test_everything_but_numpy_may_be_missing(python: Any) -> None:
    done = python(USE, blocked=[*FRAMEWORKS, KERNELS])
    assert (done.stdout.strip(), done.stderr) == ("[[2.0]] [[8.0], [0.0]] False", "")


def test_what_needs_scipy_says_so(python: Any) -> None:
    program = "import gradbag; gradbag.SparseTensor([[0]], [1.0], [1]).to_scipy()"
    done = python(program, blocked=["scipy"])
    assert done.returncode == 1
    assert re.search(r"^ModuleNotFoundError: .*scipy", done.stderr, re.MULTILINE)


@pytest.mark.slow
def test_without_compiled_kernels_the_derived_tests_pass(python: Any) -> None:
    program = "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    options = ["-p", "without_kernels", "-p", "no:cacheprovider", "-p", "no:xdist"]
    fewer = "not complex128 and not memory_layout and not order_three"  # for the sake of time
    registry = HERE.parent / "registry"
    same = [f"--ignore={registry / name}" for name in ("test_basic_ops.py", "test_graph_gradients.py")]  # no kernels
    done = python(program, *options, *same, "-k", fewer, str(registry), path=[HERE])
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr
    assert "native kernels: not there" in done.stdout
    counted = re.search(r"(\d+) passed", done.stdout)
    assert counted is not None
    assert int(counted[1]) > 200


@pytest.mark.parametrize(
    "error",
    ["ImportError('undefined symbol: segment_sum')", "ModuleNotFoundError(\"No module named 'other'\", name='other')"],
    ids=["undefined symbol", "something that it needs is missing"],
)
def test_a_broken_compiled_module_is_not_passed_over(python: Any, error: str) -> None:
    done = python(BROKEN.format(error=error))
    assert done.returncode == 1
    assert re.search(r"(undefined symbol: segment_sum|No module named 'other')$", done.stderr.strip())


def test_type_checkers_are_told_that_there_are_types() -> None:
    assert files("gradbag").joinpath("py.typed").is_file()
    assert files("gradbag").joinpath("raw_ops.pyi").is_file()
