"""Where new nodes go: a graph, a prefix for their names, and what must run before them."""

from __future__ import annotations

from collections.abc import Sequence

from .graph import Graph, Node, Output, check_name


class Scope:
    """A place to build in, after TensorFlow's C++ API.

    >>> from gradbag.graph import ClientSession, Scope, ops
    >>> root = Scope.new_root_scope()
    >>> grad = ops.Const(root, [[1.0, 2.0]])
    >>> mean = ops.SparseSegmentMeanGrad(root.with_op_name("mean_grad"), grad, [0, 1], [0, 0], 2)
    >>> ClientSession(root).run(fetches=[mean.output])
    [array([[0.5, 1. ],
           [0.5, 1. ]], dtype=float32)]
    """

    def __init__(
        self, graph: Graph, prefix: str, taken: dict[str, int], op_name: str = "", control: tuple[Node, ...] = ()
    ) -> None:
        self.graph, self.control = graph, control
        self._prefix, self._taken, self._op_name = prefix, taken, op_name

    @classmethod
    def new_root_scope(cls) -> Scope:
        """A scope over a new, empty graph."""
        return cls(Graph(), "", {})

    @classmethod
    def over(cls, graph: Graph) -> Scope:
        """A root scope over a graph that has nodes already, say one that was loaded."""
        return cls(graph, "", {})

    def new_sub_scope(self, name: str) -> Scope:
        """A scope whose nodes are called name/..., made unique; an empty name changes nothing."""
        if not name:
            return Scope(self.graph, self._prefix, self._taken, "", self.control)
        check_name(name)
        return Scope(self.graph, self._join(self._unique(name)), {}, "", self.control)

    def with_op_name(self, name: str) -> Scope:
        """The same scope, whose next nodes are called so, made unique."""
        check_name(name)
        return Scope(self.graph, self._prefix, self._taken, name, self.control)

    def with_control_dependencies(self, before: Sequence[Node | Output]) -> Scope:
        """The same scope, whose new nodes run after these."""
        nodes = tuple(b.node if isinstance(b, Output) else b for b in before)
        return Scope(self.graph, self._prefix, self._taken, self._op_name, (*self.control, *nodes))

    @property
    def name(self) -> str:
        """The prefix of the names, without the last slash."""
        return self._prefix

    def name_for(self, default: str) -> str:
        """A name for a new node, as TensorFlow makes it: the second of a name gets _1, the third _2."""
        return self._join(self._unique(self._op_name or default))

    def _join(self, name: str) -> str:
        return f"{self._prefix}/{name}" if self._prefix else name

    def _unique(self, name: str) -> str:
        unique = name
        while unique in self._taken or self._join(unique) in self.graph:
            self._taken[name] = self._taken.get(name, 0) + 1
            unique = f"{name}_{self._taken[name]}"
        self._taken.setdefault(unique, 0)
        return unique

    def __repr__(self) -> str:
        return f"<scope {self._prefix or 'root'} of {self.graph!r}>"
