"""How an op is declared, and the registry of all declarations.

An op is one block: `@op(...)` above a NumPy function that says what it means, `@that.sizes` where a size depends on
the data, `@that.gradient` below. Everything else (raw_ops, checks, docs, stubs, blocks, tests) reads this.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import dtypes, errors
from .dims import Dims, Shape, Size, Sizes, parse

Inputs = Mapping[str, Any]


@dataclass(frozen=True)
class Arg:
    """An input or an output: its dtype is a name, or a type variable of the op."""

    name: str
    dtype: str
    shape: str
    doc: str
    holds: str | None = None  # shape string whose sizes are the *contents* of this input
    gives: str = ""  # a word whose size the contents of this input decide, by a rule or by counting
    note: str = ""  # said when a value of this input is out of range: what its range comes from
    dims: Dims = field(init=False, repr=False, compare=False)
    contents: Dims | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dims", parse(self.shape))
        object.__setattr__(self, "contents", None if self.holds is None else parse(self.holds))


@dataclass(frozen=True)
class Attr:
    """A setting: a plain Python value of the default's type, never an array."""

    name: str
    default: bool
    doc: str


@dataclass(frozen=True)
class Example:
    """Literal inputs and outputs: the docs' example, the studio's default values and a test."""

    inputs: Inputs
    outputs: Inputs
    dtypes: Mapping[str, str] = field(default_factory=dict)  # type variables, where not the usual ones


@dataclass(frozen=True)
class Reject:
    """Inputs that differ from the example's and must be refused with a message of this form."""

    change: Inputs
    message: str


@dataclass(frozen=True)
class Kernel:
    """The native function of an op.

    `passes` names the inputs it takes, if not all: a size that the output's shape already tells need not travel.
    `copies` names a type variable whose values are only moved, never computed with: the kernel sees bytes.
    `scratch` names the sizes that the kernel keeps working memory for, eight bytes each.
    """

    name: str
    passes: tuple[str, ...] | None = None
    copies: str | None = None
    scratch: tuple[str, ...] = ()


@dataclass(frozen=True)
class AtLeast:
    """A lower bound of a size, known before the kernel has counted: enough to refuse what can never fit."""

    size: int


Samples = Callable[[np.random.Generator], Iterable[Inputs]]
Rule = Callable[[Any, Any, Any, Any], dict[str, Any]]


class Op:
    """One declared op. Made by the `op` decorator; knows its schema and its rules, never a framework."""

    def __init__(
        self,
        name: str,
        body: Callable[..., Any],
        *,
        inputs: Sequence[Arg],
        outputs: Sequence[Arg],
        types: Mapping[str, tuple[str, ...]],
        example: Example,
        samples: Samples,
        rejects: Sequence[Reject] = (),
        attrs: Sequence[Attr] = (),
        kernel: Kernel | None = None,
        linear: Sequence[str] = (),
        no_grad: Sequence[str] = (),
    ) -> None:
        self.name, self.body = name, body
        self.inputs, self.outputs, self.attrs = tuple(inputs), tuple(outputs), tuple(attrs)
        self.types, self.kernel, self.example, self.samples = dict(types), kernel, example, samples
        self.rejects, self.linear, self.no_grad = tuple(rejects), tuple(linear), tuple(no_grad)
        self.rule: Rule | None = None
        self.check_rule: Callable[..., None] | None = None
        self.size_rule: Callable[..., dict[str, int | AtLeast]] | None = None
        self.routes: dict[tuple[Any, ...], Any] = {}  # what the NumPy interpreter prepared, by dtypes and ranks
        self.shortcuts: Any = None  # the same for small calls, once there are some
        self.doc = inspect.getdoc(body) or ""
        self.python_name = body.__name__
        self.category = body.__module__.rpartition(".")[2]
        self.input_names = tuple(a.name for a in self.inputs)
        self.held = tuple(p for p, a in enumerate(self.inputs) if a.contents is not None)
        self.held_vectors = tuple(p for p, a in enumerate(self.inputs) if a.contents is not None and a.dims.terms)
        self.attr_defaults = {a.name: a.default for a in self.attrs}
        self.result: Any = None
        if len(self.outputs) > 1:
            self.result = namedtuple(name, [a.name for a in self.outputs])  # type: ignore[misc]
            # The class is no attribute of a module, so pickle finds it by the op's name.
            self.result.__reduce__ = lambda answer: (_remade, (name, tuple(answer)))
        self._check_declaration()

    # ------------------------------------------------------------------ decorators of the block
    def gradient(self, rule: Rule) -> Rule:
        """`rule(ops, x, y, g)` gives a dict of input name to cotangent; it may call `ops` only."""
        self.rule = rule
        return rule

    def check(self, rule: Callable[..., None]) -> Callable[..., None]:
        """Takes the inputs and raises a Fault for what neither shapes nor a kernel refuse."""
        self.check_rule = rule
        return rule

    def sizes(self, rule: Callable[..., dict[str, int | AtLeast]]) -> Callable[..., dict[str, int | AtLeast]]:
        """Takes the inputs, gives the sizes of the words that stand only in outputs, in the outputs' order."""
        self.size_rule = rule
        return rule

    # ------------------------------------------------------------------ what follows from the declaration
    @property
    def differentiable(self) -> tuple[str, ...]:
        """The inputs that can carry a gradient for some dtype."""
        return tuple(a.name for a in self.inputs if self._can_carry_gradient(a) and a.name not in self.no_grad)

    @property
    def differentiable_outputs(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.outputs if self._can_carry_gradient(a))

    @functools.cached_property
    def counted_words(self) -> tuple[str, ...]:
        """The words whose sizes depend on the data, in the order in which the outputs name them."""
        known = {w for a in self.inputs for d in (a.dims, a.contents) if d is not None for w in d.words}
        return tuple(dict.fromkeys(w for a in self.outputs for w in a.dims.words if w not in known))

    @functools.cached_property
    def sized_outputs(self) -> tuple[str, ...]:
        """The outputs whose sizes are known before anything is counted, so that a caller can bring the array."""
        counted = set(self.counted_words)
        if counted and self.size_rule is not None:
            sizes = self.size_rule(*[np.asarray(value) for value in self.example.inputs.values()])
            counted = {word for word, size in sizes.items() if isinstance(size, AtLeast)}
        return tuple(a.name for a in self.outputs if counted.isdisjoint(a.dims.words))

    def asks_for(self, words: Sequence[str]) -> str:
        """The input that decides the size of a word, for a message about it: by its contents, else by its shape."""
        for word in words:
            for arg in self.inputs:
                if arg.gives == word or (arg.contents is not None and word in arg.contents.words):
                    return arg.name
            for arg in self.inputs:
                if word in arg.dims.words:
                    return arg.name
        return self.inputs[0].name

    def allowed(self, arg: Arg) -> tuple[str, ...]:
        """The dtype names that an argument takes."""
        return self.types.get(arg.dtype, (arg.dtype,))

    def resolve_types(self, names: Sequence[str]) -> dict[str, str]:
        """Bind the type variables to the dtype names of the inputs, or raise UnsupportedTypeError."""
        bound: dict[str, str] = {}
        giver: dict[str, str] = {}
        for arg, name in zip(self.inputs, names, strict=True):
            if name not in self.allowed(arg):
                raise errors.wrong_type(self.name, arg.name, self.allowed(arg), name)
            if bound.setdefault(arg.dtype, name) != name:
                why = f"like {giver[arg.dtype]}"
                raise errors.wrong_type(self.name, arg.name, [bound[arg.dtype]], name, why)
            giver.setdefault(arg.dtype, arg.name)
        return bound

    def bind_shapes(self, shapes: Sequence[Sequence[Size]], contents: Sequence[Any]) -> Sizes:
        """Check the shapes of the inputs and give the sizes of the words.

        `contents` has the value of each input that holds sizes, and None where it is not known.
        """
        sizes: Sizes = {}
        for arg, shape, held in zip(self.inputs, shapes, contents, strict=True):
            if not arg.dims.bind(shape, sizes):
                # Bind again on a copy: words of this argument itself must not count as known.
                raise errors.wrong_shape(
                    self.name, arg.name, arg.shape, arg.dims.explain(self._before(arg, shapes)), shape
                )
            if arg.contents is not None and held is not None:
                self._bind_contents(arg, held.tolist() if isinstance(held, np.ndarray) else held, sizes)
        return sizes

    def infer(
        self,
        shapes: Sequence[Sequence[Size]],
        names: Sequence[str],
        contents: Sequence[Any] | None = None,
    ) -> list[tuple[Shape, str]]:
        """Shapes (None where unknown) and dtype names of the outputs, without running the op."""
        bound = self.resolve_types(names)
        sizes = self.bind_shapes(shapes, contents or [None] * len(self.inputs))
        return [(a.dims.shape(sizes), bound.get(a.dtype, a.dtype)) for a in self.outputs]

    # ------------------------------------------------------------------ details
    def _can_carry_gradient(self, arg: Arg) -> bool:
        return not dtypes.DIFFERENTIABLE.isdisjoint(self.allowed(arg))

    def _before(self, arg: Arg, shapes: Sequence[Sequence[Size]]) -> Sizes:
        sizes: Sizes = {}
        for other, shape in zip(self.inputs, shapes, strict=True):
            if other is arg:
                break
            other.dims.bind(shape, sizes)
        return sizes

    def _bind_contents(self, arg: Arg, held: int | list[int], sizes: Sizes) -> None:
        assert arg.contents is not None
        scalar = isinstance(held, int)
        values = [held] if isinstance(held, int) else held
        terms = arg.contents.terms
        if (arg.contents.star < 0 and len(values) != len(terms)) or len(values) < len(terms) - (arg.contents.star >= 0):
            raise errors.wrong_shape(self.name, arg.name, f"at least {len(terms) - 1}", "", [len(values)])
        for place, value in enumerate(values):
            ignored = arg.contents.star >= 0 and place >= arg.contents.star and terms[arg.contents.star] == "*_"
            if value < 0 and not ignored:
                raise errors.invalid(self.name, errors.Fault("negative", arg.name, () if scalar else (place,), value))
        if not arg.contents.bind(values, sizes):
            raise errors.wrong_shape(self.name, arg.name, arg.contents.text, arg.contents.explain(sizes), values)

    def _check_declaration(self) -> None:
        wanted = snake_case(self.name)
        if self.python_name != wanted:
            raise TypeError(f"{self.name}: the function must be called {wanted}, not {self.python_name}")
        declared = [a.name for a in self.inputs] + [a.name for a in self.attrs]
        taken = list(inspect.signature(self.body).parameters)
        if taken != declared:
            raise TypeError(f"{self.name}: the declaration names {declared}, the function takes {taken}")
        for name in ("name", "out"):
            if name in declared:
                raise TypeError(f"{self.name}: {name} is an argument of every op, and no input can be called so")
        if not self.doc:
            raise TypeError(f"{self.name}: the function needs a docstring, it is the op's page")
        if list(self.example.inputs) != [a.name for a in self.inputs]:
            raise TypeError(f"{self.name}: the example must give every input, in order")
        for arg in (*self.inputs, *self.outputs):
            if arg.dtype not in self.types and not is_dtype_name(arg.dtype):
                raise TypeError(
                    f"{self.name}: {arg.name} has the dtype {arg.dtype!r}, which is neither known nor in types"
                )
        if set(self.example.outputs) != {a.name for a in self.outputs}:
            raise TypeError(f"{self.name}: the example must give every output")
        for variable, names in self.types.items():
            for name in names:
                if not is_dtype_name(name):
                    raise TypeError(f"{self.name}: {variable} names the dtype {name!r}, which is not known")
        for name in self.no_grad:
            if name not in self.input_names:
                raise TypeError(f"{self.name}: no_grad names {name}, which is no input")
        for name in self.linear:
            if name not in self.differentiable:
                raise TypeError(f"{self.name}: linear names {name}, which carries no gradient")

    def __repr__(self) -> str:
        return f"<op {self.name}>"


def is_dtype_name(name: str) -> bool:
    return name in dtypes.ANY or name in dtypes.QUANTIZED


def snake_case(name: str) -> str:
    """SparseSegmentSqrtNGradV2 becomes sparse_segment_sqrt_n_grad_v2, as TensorFlow spells it."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _remade(name: str, outputs: tuple[Any, ...]) -> Any:
    return registry[name].result._make(outputs)


class Registry:
    """All declared ops, by name, in the order of declaration."""

    def __init__(self) -> None:
        self._ops: dict[str, Op] = {}

    def add(self, op: Op) -> None:
        if op.name in self._ops:
            raise TypeError(f"{op.name} is declared twice")
        self._ops[op.name] = op

    def remove(self, name: str) -> None:
        """Forget an op, for code that declares one for a while."""
        del self._ops[name]

    def get(self, name: str) -> Op | None:
        return self._ops.get(name)

    def __getitem__(self, name: str) -> Op:
        return self._ops[name]

    def __contains__(self, name: object) -> bool:
        return name in self._ops

    def __iter__(self) -> Iterator[Op]:
        return iter(self._ops.values())

    def __len__(self) -> int:
        return len(self._ops)


registry = Registry()


def op(name: str, **declaration: Any) -> Callable[[Callable[..., Any]], Op]:
    """Declare the decorated NumPy function as an op."""

    def declare(body: Callable[..., Any]) -> Op:
        made = Op(name, body, **declaration)
        registry.add(made)
        return made

    return declare
