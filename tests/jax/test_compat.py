"""The names of JAX that may go away are all in one file, and are there."""

from typing import Any

import jax
import jax.numpy as jnp

from gradbag.adapters.jax import compat


def test_the_names_are_there() -> None:
    for name in compat.__all__:
        assert getattr(compat, name) is not None


def test_a_value_is_known_while_it_is_differentiated_and_not_while_it_is_compiled() -> None:
    seen: list[Any] = []

    def square(value: Any) -> Any:
        seen.append(compat.known(value))
        return value * value

    jax.grad(square)(3.0)
    jax.jit(square)(3.0)
    assert seen == [3.0, None]
    assert compat.known(4.0) == 4.0


def test_what_does_not_move_has_a_tangent_of_its_own_type() -> None:
    for value, dtype in ((jnp.ones(2), jnp.float64), (jnp.arange(2), jax.dtypes.float0)):
        assert isinstance(compat.zero_tangent(value), compat.Zero)
        assert compat.zero_tangent(value).aval.dtype == dtype
