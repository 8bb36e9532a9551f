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
from typing import Any, Literal

import numpy as np

from . import dtypes, errors
from .dims import AnyShape, Dims, Size, Sizes, parse

Inputs = Mapping[str, Any]
AttrKind = Literal["bool", "int", "float", "string", "type", "shape", "ints", "tensor"]


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
    many: bool = False  # a list of such inputs, as long as the caller likes; at most one input of an op
    dims: Dims = field(init=False, repr=False, compare=False)
    contents: Dims | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dims", parse(self.shape))
        object.__setattr__(self, "contents", None if self.holds is None else parse(self.holds))


class Required:
    """Stands for the default of an attribute that a call must give."""

    def __repr__(self) -> str:
        return "required"


REQUIRED = Required()


@dataclass(frozen=True)
class Attr:
    """A setting: a plain value that is known before the op runs. One of kind "type" may name a type variable."""

    name: str
    default: Any
    doc: str
    kind: AttrKind = "bool"
    allowed: tuple[str, ...] = ()  # of a "string" or "type", where not everything goes


class Known:
    """What is known of an input before the op runs, for a rule about shapes; None where it is not."""

    __slots__ = ("_value", "dtype", "looked", "shape")

    def __init__(self, dtype: str, shape: AnyShape, value: Any = None) -> None:
        self.dtype, self.shape, self._value = dtype, shape, value
        self.looked = False  # whether the rule has asked for the value, so that its answer may depend on it

    @property
    def value(self) -> Any:
        self.looked = True
        return self._value


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
ShapeRule = Callable[..., Sequence[AnyShape]]
# What a session does with an op: it is fed, it holds a value, or its first input is a variable that gets its output:
# to "assign" needs no value before, to "update" does.
State = Literal["", "fed", "variable", "assign", "update"]
Rule = Callable[[Any, Any, Any, Any], dict[str, Any]]


_MOST_OUTLINES = 4096  # shapes are few, but a caller may come with ever new ones


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
        state: State = "",
        basic: bool = False,
    ) -> None:
        self.name, self.body, self.state, self.basic = name, body, state, basic
        self.inputs, self.outputs, self.attrs = tuple(inputs), tuple(outputs), tuple(attrs)
        self.types, self.kernel, self.example, self.samples = dict(types), kernel, example, samples
        self.rejects, self.linear, self.no_grad = tuple(rejects), tuple(linear), tuple(no_grad)
        self.rule: Rule | None = None
        self.check_rule: Callable[..., None] | None = None
        self.size_rule: Callable[..., dict[str, int | AtLeast]] | None = None
        self.shape_rule: ShapeRule | None = None
        self.value_rule: Callable[..., Sequence[Any]] | None = None
        self.routes: dict[tuple[Any, ...], Any] = {}  # what the NumPy interpreter prepared, by dtypes and ranks
        self.shortcuts: Any = None  # the same for small calls, once there are some
        self._outlines: dict[Any, list[tuple[AnyShape, str]]] = {}
        self.doc = inspect.getdoc(body) or ""
        self.python_name = body.__name__.rstrip("_")  # a function that would hide a builtin may end with _
        self.category = body.__module__.rpartition(".")[2]
        self.input_names = tuple(a.name for a in self.inputs)
        self.held = tuple(p for p, a in enumerate(self.inputs) if a.contents is not None)
        self.held_vectors = tuple(p for p, a in enumerate(self.inputs) if a.contents is not None and a.dims.terms)
        self.attr_defaults = {a.name: a.default for a in self.attrs}
        self.required_attrs = tuple(a.name for a in self.attrs if a.default is REQUIRED)
        self.many = next((p for p, a in enumerate(self.inputs) if a.many), None)
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

    def shapes(self, rule: ShapeRule) -> ShapeRule:
        """Takes what is Known of each input, and the attributes; gives the outputs' shapes where words cannot.

        It raises a Fault for inputs that do not go together.
        """
        self.shape_rule = rule
        return rule

    def values(self, rule: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
        """Like `shapes`, for outputs whose values can be known without those of the inputs; None where they cannot."""
        self.value_rule = rule
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
        """The outputs whose sizes are known before anything is counted, so that a caller can bring the array.

        A basic op has none: NumPy makes its results.
        """
        if self.basic:
            return ()
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

    def flat_inputs(self, count: int) -> tuple[Arg, ...]:
        """The declared input of each of `count` arrays: a list of inputs takes as many as the others leave."""
        if self.many is None:
            return self.inputs
        listed = count - len(self.inputs) + 1
        return (*self.inputs[: self.many], *[self.inputs[self.many]] * listed, *self.inputs[self.many + 1 :])

    def flat_names(self, count: int) -> tuple[str, ...]:
        """What to call each of `count` arrays in a message: 'values[2]' for one of a list."""
        if self.many is None:
            return self.input_names
        listed = [f"{self.input_names[self.many]}[{k}]" for k in range(count - len(self.inputs) + 1)]
        return (*self.input_names[: self.many], *listed, *self.input_names[self.many + 1 :])

    def flat(self, values: Sequence[Any]) -> list[Any]:
        """The values of the inputs with the members of a list of inputs side by side."""
        if self.many is None:
            return list(values)
        return [*values[: self.many], *values[self.many], *values[self.many + 1 :]]

    def grouped(self, flat: Sequence[Any]) -> list[Any]:
        """The opposite of `flat`."""
        if self.many is None:
            return list(flat)
        end = self.many + len(flat) - len(self.inputs) + 1
        return [*flat[: self.many], list(flat[self.many : end]), *flat[end:]]

    def resolve_types(self, names: Sequence[str], attrs: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Bind the type variables to the dtype names of the inputs, or raise UnsupportedTypeError."""
        bound: dict[str, str] = {}
        giver: dict[str, str] = {}
        for name, value in (attrs or {}).items():
            if name in self.types:
                bound[name], giver[name] = value, name
        for arg, argument, name in zip(self.flat_inputs(len(names)), self.flat_names(len(names)), names, strict=True):
            if name not in self.allowed(arg):
                raise errors.wrong_type(self.name, argument, self.allowed(arg), name)
            if bound.setdefault(arg.dtype, name) != name:
                why = f"like {giver[arg.dtype]}"
                raise errors.wrong_type(self.name, argument, [bound[arg.dtype]], name, why)
            giver.setdefault(arg.dtype, argument)
        return bound

    def bind_shapes(self, shapes: Sequence[Sequence[Size] | None], contents: Sequence[Any]) -> Sizes:
        """Check the shapes of the inputs and give the sizes of the words.

        `contents` has the value of each input that holds sizes, and None where it is not known.
        """
        sizes: Sizes = {}
        for arg, shape, held in zip(self.flat_inputs(len(shapes)), shapes, contents, strict=True):
            if not arg.dims.bind(shape, sizes):
                # Bind again on a copy: words of this argument itself must not count as known.
                known = arg.dims.explain(self._before(arg, shapes))
                raise errors.wrong_shape(self.name, arg.name, arg.shape, known, shape or ())
            if arg.contents is not None and held is not None:
                self._bind_contents(arg, held.tolist() if isinstance(held, np.ndarray) else held, sizes)
        return sizes

    def infer(
        self,
        shapes: Sequence[Sequence[Size] | None],
        names: Sequence[str],
        contents: Sequence[Any] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> list[tuple[AnyShape, str]]:
        """Shapes (None where unknown) and dtype names of the outputs, without running the op.

        The inputs are flat; the attributes are normal ones, or None for the defaults.
        """
        return self.outline(shapes, names, contents, attrs)[0]

    def outline(
        self,
        shapes: Sequence[Sequence[Size] | None],
        names: Sequence[str],
        contents: Sequence[Any] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> tuple[list[tuple[AnyShape, str]], bool]:
        """What `infer` gives, and whether that follows from shapes and dtypes alone; then it is kept for next time."""
        settings = self.attr_defaults if attrs is None else attrs
        key: Any = (*names, *shapes, *settings.values())
        try:
            kept = self._outlines.get(key)
        except TypeError:  # an array among the attributes, or a list
            kept = key = None
        if kept is not None:
            return kept, True
        contents = contents or [None] * len(shapes)
        bound = self.resolve_types(names, settings)
        sizes = self.bind_shapes(shapes, contents)
        known: list[Known] = []
        if self.shape_rule is None:
            found: Sequence[AnyShape] = [a.dims.shape(sizes) for a in self.outputs]
        else:
            known = [
                Known(name, None if shape is None else tuple(shape), held)
                for name, shape, held in zip(names, shapes, contents, strict=True)
            ]
            try:
                found = self.shape_rule(*self.grouped(known), **settings)
            except errors.Fault as fault:
                raise errors.invalid(self.name, fault) from None
        outline = [(s, bound.get(a.dtype, a.dtype)) for s, a in zip(found, self.outputs, strict=True)]
        alone = not self.held and not any(k.looked for k in known)
        if alone and key is not None:
            if len(self._outlines) == _MOST_OUTLINES:
                self._outlines.clear()
            self._outlines[key] = outline
        return outline, alone

    # ------------------------------------------------------------------ details
    def _can_carry_gradient(self, arg: Arg) -> bool:
        return not dtypes.DIFFERENTIABLE.isdisjoint(self.allowed(arg))

    def _before(self, arg: Arg, shapes: Sequence[Sequence[Size] | None]) -> Sizes:
        sizes: Sizes = {}
        for other, shape in zip(self.flat_inputs(len(shapes)), shapes, strict=True):
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
        given = [name for name in self.example.inputs if name not in self.attr_defaults]
        if given != [a.name for a in self.inputs]:
            raise TypeError(f"{self.name}: the example must give every input, in order")
        if not set(self.required_attrs) <= set(self.example.inputs):
            raise TypeError(f"{self.name}: the example must give every required attribute")
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
        if sum(a.many for a in self.inputs) > 1:
            raise TypeError(f"{self.name}: only one input can be a list")
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
    return find(name).result._make(outputs)


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
# What a graph needs around the sparse ops: arithmetic, reshaping, constants. Loaded with the graph, or when asked for.
basic_registry = Registry()


def op(name: str, basic: bool = False, **declaration: Any) -> Callable[[Callable[..., Any]], Op]:
    """Declare the decorated NumPy function as an op."""

    def declare(body: Callable[..., Any]) -> Op:
        made = Op(name, body, basic=basic, **declaration)
        (basic_registry if basic else registry).add(made)
        return made

    return declare


def find(name: str) -> Op:
    """A sparse op or a basic one, by its name; the basic ones must have been loaded."""
    found = registry.get(name) or basic_registry.get(name)
    if found is None:
        raise KeyError(name)
    return found


def basic_op(name: str, **declaration: Any) -> Callable[[Callable[..., Any]], Op]:
    """Declare the decorated NumPy function as an op that stands around the sparse ones in a graph."""
    return op(name, basic=True, **declaration)
