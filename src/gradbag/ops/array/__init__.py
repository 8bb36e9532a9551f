"""What a graph needs around the sparse ops; every module of this package is imported, none is listed by hand."""

from importlib import import_module as _import_module
from pkgutil import iter_modules as _iter_modules

for _module in _iter_modules(__path__):
    _import_module(f"{__name__}.{_module.name}")
