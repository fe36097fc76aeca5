"""All constructions, by name and by dimension, as the modules in `families/` register them.

A module offers single codes as `CODES`, a tuple of `Construction`, and codes with a parameter as
`FAMILIES`, a tuple of `Family`. Whatever file lies in the folder is read; nothing is built.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from gnc_cli.constructions import families as folder
from gnc_cli.constructions.construction import Construction, Family


@cache
def single_codes() -> tuple[Construction, ...]:
    """The codes that stand alone."""
    return tuple(_registered("CODES"))


@cache
def families() -> tuple[Family, ...]:
    """The families with a parameter, by name."""
    return tuple(sorted(_registered("FAMILIES"), key=lambda family: family.name))


def in_dimension(d: int) -> Iterator[Construction]:
    """Every construction in exactly d dimensions, largest cosine and size known, none built."""
    yield from (code for code in single_codes() if code.d == d)
    for family in families():
        yield from family.in_dimension(d)


def find(name: str) -> Construction | None:
    """The construction called `name`, or None."""
    single = (code for code in single_codes() if code.name == name)
    members = (family.named(name) for family in families())
    return next(single, None) or next((code for code in members if code is not None), None)


def names() -> list[str]:
    """What there is to choose from: names of single codes and patterns of families."""
    return [*(code.name for code in single_codes()), *(family.name for family in families())]


def _registered(attribute: str) -> Iterator[Any]:
    for module in sorted(module.name for module in iter_modules(folder.__path__)):
        yield from getattr(import_module(f"{folder.__name__}.{module}"), attribute, ())
