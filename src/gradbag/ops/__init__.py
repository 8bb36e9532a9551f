"""The declarations of the ops: every module of this package is imported, none is listed by hand.

Those of NumPy's kind stand in a package of their own, which is loaded when the registry is asked for one of them.
"""

from importlib import import_module as _import_module
from pkgutil import iter_modules as _iter_modules

from ..spec import registry as _registry

for _module in _iter_modules(__path__):
    if not _module.ispkg:
        _import_module(f"{__name__}.{_module.name}")
_registry.load_rest = lambda: _import_module(f"{__name__}.array")
