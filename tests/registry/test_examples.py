"""Every op's example is true, and is the example that its help shows; of the basic ops too."""

import doctest
from typing import Any

import numpy as np
import pytest

from gradbag import opdocs, raw_ops
from gradbag.spec import Op, registry
from gradbag.testing.oracle import listed

every_op = pytest.mark.parametrize("op", [op for op in registry if opdocs.runs_alone(op)], ids=lambda op: op.name)


@every_op
def test_the_example_gives_its_outputs(op: Op) -> None:
    lists = {op.input_names[place] for place in op.lists}
    updated = {
        name: [_array(one) for one in value] if name in lists else _array(value)
        for name, value in op.example.inputs.items()
        if name in op.example.after
    }
    answer = getattr(raw_ops, op.name)(**{**op.example.inputs, **updated})
    outputs = dict(zip([arg.name for arg in op.outputs], op.grouped_outputs(listed(op, answer)), strict=True))
    pairs = []
    for name, want in {**op.example.outputs, **op.example.after}.items():
        got = {**outputs, **updated}[name]
        pairs += [(name, *pair) for pair in (zip(got, want, strict=True) if isinstance(got, list) else [(got, want)])]
    for name, got, want in pairs:
        if got.dtype.kind in "iubO":
            np.testing.assert_array_equal(got, want, err_msg=f"{op.name}: {name}")
        else:
            np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=f"{op.name}: {name}")


def _array(value: Any) -> Any:
    array = np.array(value)
    return array.astype(np.float32) if array.dtype.kind == "f" else array


@every_op
def test_the_example_in_the_help_runs_as_printed(op: Op) -> None:
    text = getattr(raw_ops, op.name).__doc__
    test = doctest.DocTestParser().get_doctest(text, {}, op.name, None, None)
    assert test.examples
    with np.printoptions(**opdocs.PRINTING):
        result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert result.attempted == len(test.examples)
    assert result.failed == 0
