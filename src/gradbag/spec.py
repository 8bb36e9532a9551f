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
from weakref import WeakKeyDictionary

import numpy as np

from . import dtypes, errors
from .dims import AnyShape, Dims, Size, Sizes, parse
from .listing import Lists

Inputs = Mapping[str, Any]
AttrKind = Literal["bool", "int", "float", "string", "type", "shape", "ints", "floats", "strings", "tensor"]


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
    many: bool = False  # a list; all lists of inputs of a call have one length, and all lists of outputs
    count: str = ""  # TensorFlow's attribute for the length of a list; one of outputs is as long as those of inputs, or
    # as an attribute of this name that the op declares
    each: bool = False  # of a list: its members may differ in dtype, and each output has that of the input beside it
    optional: bool = False  # may be left out: None; lists that are optional may differ in length
    updates: bool = False  # the op changes this input in place; only once all is checked, so that an error leaves it
    handle: bool = False  # what TensorFlow passes as a resource: a variable that is read or changed where it is kept
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


class Declined(Exception):
    """What a `compiled` rule raises about a call that it leaves to the body."""


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
    after: Inputs = field(default_factory=dict)  # what the inputs are that the op updates


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
    `fixed` are the first of its settings, the attributes that `settings` names are the others.
    `takes_over`: never slower than TensorFlow's own kernel, whose place it takes where that is asked for.
    A kernel of an op that updates inputs writes nothing before all values are checked.
    """

    name: str
    passes: tuple[str, ...] | None = None
    copies: str | None = None
    scratch: tuple[str, ...] = ()
    fixed: tuple[Any, ...] = ()
    settings: tuple[str, ...] = ()
    takes_over: bool = False


@dataclass(frozen=True)
class AtLeast:
    """A lower bound of a size, known before the kernel has counted: enough to refuse what can never fit."""

    size: int


Samples = Callable[[np.random.Generator], Iterable[Inputs]]
ShapeRule = Callable[..., Sequence[AnyShape]]
# What a session does with an op: it is fed, it holds a value, or its first input is a variable that gets its output:
# to "assign" needs no value before, to "update" does. What an op itself updates (`Arg.updates`) is a variable too.
# Whether its first input is "initialized" only a session knows, how many numbers a "random" op has drawn, and which
# output of a "switch", which input of a "merge" is alive. A "loop" is made of graphs, which a session
# runs, and a "list" is no array.
State = Literal["", "fed", "variable", "assign", "update", "initialized", "random", "switch", "merge", "loop", "list"]
Rule = Callable[[Any, Any, Any, Any], dict[str, Any]]


_MOST_OUTLINES = 4096  # shapes are few, but a caller may come with ever new ones
_outlines: WeakKeyDictionary[Op, dict[Any, list[tuple[AnyShape, str]]]] = WeakKeyDictionary()


class Op(Lists):
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
        behind: Kernel | None = None,
        linear: Sequence[str] = (),
        no_grad: Sequence[str] = (),
        state: State = "",
    ) -> None:
        self.name, self.body, self.state = name, body, state
        self.inputs, self.outputs, self.attrs = tuple(inputs), tuple(outputs), tuple(attrs)
        self.types, self.kernel, self.example, self.samples = dict(types), kernel, example, samples
        # Where NumPy does for us, a kernel may still answer TensorFlow's op, for the types that it is there for.
        self.behind = behind or (kernel if kernel is not None and kernel.takes_over else None)
        self.rejects, self.linear, self.no_grad = tuple(rejects), tuple(linear), tuple(no_grad)
        self.rule: Rule | None = None
        self.check_rule: Callable[..., None] | None = None
        self.size_rule: Callable[..., dict[str, int | AtLeast]] | None = None
        self.shape_rule: ShapeRule | None = None
        self.value_rule: Callable[..., Sequence[Any]] | None = None
        self.compiled_rule: Callable[..., Any] | None = None
        self.doc = inspect.getdoc(body) or ""
        self.python_name = body.__name__.rstrip("_")  # a function that would hide a builtin may end with _
        *_, self.section, self.category = ("", *body.__module__.split("."))  # the folder and the file it stands in
        self.input_names = tuple(a.name for a in self.inputs)
        self.held = tuple(p for p, a in enumerate(self.inputs) if a.contents is not None)
        self.held_vectors = tuple(p for p, a in enumerate(self.inputs) if a.contents is not None and a.dims.terms)
        self.attr_defaults = {a.name: a.default for a in self.attrs}
        self.required_attrs = tuple(a.name for a in self.attrs if a.default is REQUIRED)
        self.lists = tuple(p for p, a in enumerate(self.inputs) if a.many)
        self.output_lists = tuple(p for p, a in enumerate(self.outputs) if a.many)
        self.updates = any(a.updates for a in self.inputs)
        self.optional_names = frozenset(a.name for a in self.inputs if a.optional)
        # What can carry a gradient for some dtype; of an op that changes its inputs, nothing.
        able = [a.name for a in self.inputs if self._can_carry_gradient(a) and a.name not in self.no_grad]
        self.differentiable = () if self.updates else tuple(able)
        self.differentiable_outputs = tuple(a.name for a in self.outputs if self._can_carry_gradient(a))
        # Linear in all inputs that carry a gradient: then its rule cannot depend on their values.
        self.is_linear = set(self.linear) == set(self.differentiable)
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

    def compiled(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Takes what calls kernels (`eager.compiled.Compiled`), the inputs as plain arrays, and the attributes.

        It gives the outputs, to the bit those of the body, or raises Declined: then the body answers.
        """
        self.compiled_rule = rule
        return rule

    # ------------------------------------------------------------------ what follows from the declaration
    def is_linear_without(self, absent: Iterable[int], count: int) -> bool:
        """The same for a call of `count` arrays without the optional ones at some places."""
        if self.is_linear or not self.optional_names:
            return self.is_linear
        left_out = {arg.name for place, arg in enumerate(self.flat_inputs(count)) if place in set(absent)}
        return set(self.linear) == set(self.differentiable) - left_out

    @functools.cached_property
    def counted_words(self) -> tuple[str, ...]:
        """The words whose sizes depend on the data, in the order in which the outputs name them."""
        known = {w for a in self.inputs for d in (a.dims, a.contents) if d is not None for w in d.words}
        return tuple(dict.fromkeys(w for a in self.outputs for w in a.dims.words if w not in known))

    @functools.cached_property
    def sized_outputs(self) -> tuple[str, ...]:
        """The outputs whose sizes are known before anything is counted, so that a caller can bring the array.

        Where a rule gives the shapes there are none: NumPy makes the results.
        """
        if self.shape_rule is not None or self.output_lists:
            return ()
        counted = set(self.counted_words)
        if counted and self.size_rule is not None:
            given = self.example.inputs
            settings = {attr.name: given.get(attr.name, attr.default) for attr in self.attrs}
            inputs = [np.asarray(value) for name, value in given.items() if name not in settings]
            sizes = self.bound(self.size_rule, settings)(*inputs)
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

    def bound(self, rule: Callable[..., Any], attrs: Mapping[str, Any]) -> Callable[..., Any]:
        """A rule about values with the attributes that it names beside the inputs."""
        named = {name: attrs[name] for name in _parameters(rule) if name in attrs} if attrs else {}
        return functools.partial(rule, **named) if named else rule

    def resolve_types(self, names: Sequence[str | None], attrs: Mapping[str, Any] | None = None) -> dict[str, str]:
        """Bind the type variables to the dtype names of the inputs, or raise UnsupportedTypeError.

        An input that is left out has the name None.
        """
        bound: dict[str, str] = {}
        giver: dict[str, str] = {}
        for variable, value in (attrs or {}).items():
            if variable in self.types:
                bound[variable], giver[variable] = value, variable
        for arg, argument, name in zip(self.flat_inputs(len(names)), self.flat_names(len(names)), names, strict=True):
            if name is None:
                continue
            if name not in self.allowed(arg):
                raise errors.wrong_type(self.name, argument, self.allowed(arg), name)
            if arg.each:
                continue
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
        for place, (arg, shape, held) in enumerate(zip(self.flat_inputs(len(shapes)), shapes, contents, strict=True)):
            if not arg.dims.bind(shape, sizes):
                # Bind again on a copy: words of this argument itself must not count as known.
                known = arg.dims.explain(self._before(place, shapes))
                argument = self.flat_names(len(shapes))[place]
                raise errors.wrong_shape(self.name, argument, arg.shape, known, shape or ())
            if arg.contents is not None and held is not None:
                self._bind_contents(arg, held.tolist() if isinstance(held, np.ndarray) else held, sizes)
        return sizes

    def infer(
        self,
        shapes: Sequence[Sequence[Size] | None],
        names: Sequence[str | None],
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
        names: Sequence[str | None],
        contents: Sequence[Any] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> tuple[list[tuple[AnyShape, str]], bool]:
        """What `infer` gives, and whether that follows from shapes and dtypes alone; then it is kept for next time."""
        settings = self.attr_defaults if attrs is None else attrs
        outlines = _outlines.setdefault(self, {})
        key: Any = (*names, *shapes, *settings.values())
        try:
            kept = outlines.get(key)
        except TypeError:  # an array among the attributes, or a list
            kept = key = None
        if kept is not None:
            return kept, True
        contents = contents or [None] * len(shapes)
        bound = self.resolve_types(names, settings)
        sizes = self.bind_shapes(shapes, contents)
        known: list[Known | None] = []
        args = self.flat_outputs(self.output_count(len(shapes), settings))
        if self.shape_rule is None:
            found: Sequence[AnyShape] = [a.dims.shape(sizes) for a in args]
        else:
            known = [
                None if name is None else Known(name, None if shape is None else tuple(shape), held)
                for name, shape, held in zip(names, shapes, contents, strict=True)
            ]
            try:
                found = self.shape_rule(*self.grouped(known), **settings)
            except errors.Fault as fault:
                raise errors.invalid(self.name, fault) from None
            if self.output_lists:
                found = self.flat_answer(found if self.result is not None else found[0])
        outline = list(zip(found, self.output_types(args, bound, names), strict=True))
        alone = not self.held and not any(k is not None and k.looked for k in known)
        if alone and key is not None:
            if len(outlines) == _MOST_OUTLINES:
                outlines.clear()
            outlines[key] = outline
        return outline, alone

    def ruled_sizes(
        self, shapes: Sequence[Sequence[Size] | None], names: Sequence[str | None], attrs: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The sizes of the counted words as the rule about shapes tells them, None where only the data does."""
        sizes: Sizes = {}
        for arg, (shape, _) in zip(self.outputs, self.infer(shapes, names, None, attrs), strict=True):
            arg.dims.bind(shape, sizes)
        return {word: sizes.get(word) for word in self.counted_words}

    # ------------------------------------------------------------------ details
    def output_types(self, args: Sequence[Arg], bound: Mapping[str, str], names: Sequence[str | None]) -> list[str]:
        """The dtype of each flat output: that of its type variable, or of the input that stands beside it in a list."""
        each = iter([name for arg, name in zip(self.flat_inputs(len(names)), names, strict=True) if arg.each])
        return [str(next(each)) if arg.each else bound.get(arg.dtype, arg.dtype) for arg in args]

    def _can_carry_gradient(self, arg: Arg) -> bool:
        return not dtypes.DIFFERENTIABLE.isdisjoint(self.allowed(arg))

    def _before(self, place: int, shapes: Sequence[Sequence[Size] | None]) -> Sizes:
        sizes: Sizes = {}
        for arg, shape in zip(self.flat_inputs(len(shapes))[:place], shapes, strict=False):
            arg.dims.bind(shape, sizes)
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
        if given != [a.name for a in self.inputs if a.name in given or not a.optional]:
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
        if set(self.example.after) != {a.name for a in self.inputs if a.updates}:
            raise TypeError(f"{self.name}: the example must tell what becomes of every input that is updated")
        for variable, names in self.types.items():
            for name in names:
                if not is_dtype_name(name):
                    raise TypeError(f"{self.name}: {variable} names the dtype {name!r}, which is not known")
        for name in self.no_grad:
            if name not in self.input_names:
                raise TypeError(f"{self.name}: no_grad names {name}, which is no input")
        for arg in self.inputs:
            special = [arg.optional and not arg.many, arg.contents is not None, arg.many or arg.updates]
            if sum(special) > 1:
                raise TypeError(f"{self.name}: {arg.name} can be optional, or hold sizes, or be a list or updated")
        if len({self.inputs[place].optional for place in self.lists}) > 1:
            raise TypeError(f"{self.name}: all lists of inputs are optional, or none")
        if len({arg.count for arg in self.outputs if arg.many}) > 1:
            raise TypeError(f"{self.name}: all lists of outputs must have one length")
        if self.output_lists and not self.outputs[self.output_lists[0]].count and not self.lists:
            raise TypeError(f"{self.name}: a list of outputs needs the attribute that counts it, or a list of inputs")
        if self.kernel is not None and self.output_lists:
            raise TypeError(f"{self.name}: a kernel gives no lists of outputs")
        if self.kernel is not None and not set(self.kernel.settings) <= set(self.attr_defaults):
            raise TypeError(f"{self.name}: the kernel's settings must be attributes")
        for name in self.linear:
            if name not in self.differentiable:
                raise TypeError(f"{self.name}: linear names {name}, which carries no gradient")

    def __repr__(self) -> str:
        return f"<op {self.name}>"


@functools.lru_cache(maxsize=1024)
def _parameters(rule: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(rule).parameters)


def is_dtype_name(name: str) -> bool:
    return name in dtypes.ANY or name in dtypes.QUANTIZED or name == dtypes.LIST


def snake_case(name: str) -> str:
    """SparseSegmentSqrtNGradV2 becomes sparse_segment_sqrt_n_grad_v2, as TensorFlow spells it."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _remade(name: str, outputs: tuple[Any, ...]) -> Any:
    return registry[name].result._make(outputs)


def titled(name: str, doc: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """For one of a family of ops: its function gets the name and the docstring that it would have if written out."""

    def entitle(body: Callable[..., Any]) -> Callable[..., Any]:
        body.__name__, body.__doc__ = snake_case(name), doc
        return body

    return entitle


class Registry:
    """All declared ops, by name, in the order of declaration.

    The ops of NumPy's kind (`ops/array`) are loaded when somebody asks for one of them, or for all.
    """

    def __init__(self) -> None:
        self._ops: dict[str, Op] = {}
        self.load_rest: Callable[[], object] | None = None  # declares what is not loaded yet

    def add(self, op: Op) -> None:
        if op.name in self._ops:
            raise TypeError(f"{op.name} is declared twice")
        self._ops[op.name] = op

    def remove(self, name: str) -> None:
        """Forget an op, for code that declares one for a while."""
        del self._ops[name]

    def get(self, name: str) -> Op | None:
        return self._ops.get(name) or self._all().get(name)

    def __getitem__(self, name: str) -> Op:
        op = self.get(name)
        if op is None:
            raise KeyError(name)
        return op

    def __contains__(self, name: object) -> bool:
        return name in self._ops or name in self._all()

    def __iter__(self) -> Iterator[Op]:
        return iter(list(self._all().values()))

    def __len__(self) -> int:
        return len(self._all())

    def loaded(self) -> list[Op]:
        """Those that need not be loaded any more."""
        return list(self._ops.values())

    def _all(self) -> dict[str, Op]:
        if self.load_rest is not None:
            self.load_rest()  # another thread that comes meanwhile waits in the same import
            self.load_rest = None
        return self._ops


registry = Registry()


def op(name: str, **declaration: Any) -> Callable[[Callable[..., Any]], Op]:
    """Declare the decorated NumPy function as an op."""

    def declare(body: Callable[..., Any]) -> Op:
        made = Op(name, body, **declaration)
        registry.add(made)
        return made

    return declare
