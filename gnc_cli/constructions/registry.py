"""All constructions, by name and by dimension, as the modules in `families/` register them.

A module offers single codes as `CODES`, a tuple of `Construction`, and codes with a parameter as
`FAMILIES`, a tuple of `Family`. Whatever file lies in the folder is read; nothing is built.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import chain
from pkgutil import iter_modules
from types import ModuleType

from gnc_cli.constructions import families as folder
from gnc_cli.constructions.construction import Construction, Family


def single_codes() -> Iterator[Construction]:
    """The codes that stand alone."""
    yield from _singles().values()


@cache
def families() -> tuple[Family, ...]:
    """The families with a parameter, by name."""
    found = chain.from_iterable(getattr(m, "FAMILIES", ()) for m in _modules())
    return tuple(sorted(found, key=lambda family: family.name))


def in_dimension(d: int) -> Iterator[Construction]:
    """Every construction in exactly d dimensions, largest cosine and size known, none built."""
    yield from _singles_by_dimension().get(d, ())
    for family in families():
        yield from family.in_dimension(d)


def find(name: str) -> Construction | None:
    """The construction called `name`, or None."""
    found = (family.named(name) for family in families())
    return _singles().get(name) or next((code for code in found if code is not None), None)


def names() -> list[str]:
    """What there is to choose from: names of single codes and patterns of families."""
    return [*_singles(), *(family.name for family in families())]


@cache
def _modules() -> tuple[ModuleType, ...]:
    found = sorted(module.name for module in iter_modules(folder.__path__))
    return tuple(import_module(f"{folder.__name__}.{name}") for name in found)


@cache
def _singles() -> dict[str, Construction]:
    codes = chain.from_iterable(getattr(m, "CODES", ()) for m in _modules())
    return {code.name: code for code in codes}


@cache
def _singles_by_dimension() -> dict[int, list[Construction]]:
    found: dict[int, list[Construction]] = {}
    for code in single_codes():
        found.setdefault(code.d, []).append(code)
    return found
