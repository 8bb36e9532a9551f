"""Every op's example is true, and is the example that its help shows."""

import doctest

import numpy as np
import pytest

from gradbag import pages, raw_ops
from gradbag.spec import Op, registry


@pytest.mark.parametrize("op", registry, ids=lambda op: op.name)
def test_the_example_gives_its_outputs(op: Op) -> None:
    answer = getattr(raw_ops, op.name)(**op.example.inputs)
    outputs = [answer] if op.result is None else answer
    for arg, got in zip(op.outputs, outputs, strict=True):
        np.testing.assert_allclose(got, op.example.outputs[arg.name], rtol=1e-6, err_msg=f"{op.name}: {arg.name}")


@pytest.mark.parametrize("op", registry, ids=lambda op: op.name)
def test_the_example_in_the_help_runs_as_printed(op: Op) -> None:
    text = getattr(raw_ops, op.name).__doc__
    test = doctest.DocTestParser().get_doctest(text, {}, op.name, None, None)
    assert test.examples
    with np.printoptions(**pages.PRINTING):
        result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert result.attempted == len(test.examples)
    assert result.failed == 0
