"""All constructions, by name and by dimension. Family modules register here and nowhere else.

A module of single codes offers `CODES`, a tuple. A family module offers `FAMILIES`, a tuple for
lists; `named(name)`, its construction of that name or None; and `in_dimension(d)`, its
constructions in exactly d dimensions. Figures only: nothing is built.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType

from gnc_cli.codes.constructions.construction import Construction, Family

__all__ = ["families", "find", "in_dimension", "names", "single_codes"]

_SINGLE: tuple[str, ...] = (
    "polyhedra",
    "quaternions",
    "root_systems",
    "gosset",
    "smith",
    "graphs",
    "equiangular",
    "leech",
)
"""Modules with `CODES`."""
_FAMILIES: tuple[str, ...] = (
    "classical",  # first: the families of theorem 3.3
    "isotropic",
    "kerdock",
    "gold",
    "delsarte_goethals",
    "bch",
    "bases",
    "shorter_codes",
    "conference",
    "unitary",
    "characters",
    "quadric_codes",
    "nets",
)
"""Modules with `FAMILIES`, `named` and `in_dimension`."""


def single_codes() -> Iterator[Construction]:
    """The codes that stand alone, in the order of their modules."""
    for module in _modules(_SINGLE):
        yield from module.CODES


def families() -> Iterator[Family]:
    """The families with a parameter, in the order of their modules."""
    for module in _modules(_FAMILIES):
        yield from module.FAMILIES


def in_dimension(d: int, *, theorem: bool = True) -> Iterator[Construction]:
    """Every construction in exactly d dimensions, largest cosine and size known, none built.

    Args:
        d: dimensions.
        theorem: with the simplex and the orthoplex, which theorem 3.3 gives everywhere.
    """
    yield from _singles_by_dimension().get(d, ())
    for module in _modules(_FAMILIES[0 if theorem else 1 :]):
        yield from module.in_dimension(d)


def find(name: str) -> Construction | None:
    """The construction called `name`, or None."""
    for code in single_codes():
        if code.name == name:
            return code
    for module in _modules(_FAMILIES):
        code = module.named(name)
        if code is not None:
            return code
    return None


def names() -> list[str]:
    """What there is to choose from: names of single codes and patterns of families."""
    return [code.name for code in single_codes()] + [family.name for family in families()]


@cache
def _singles_by_dimension() -> dict[int, list[Construction]]:
    found: dict[int, list[Construction]] = {}
    for code in single_codes():
        found.setdefault(code.d, []).append(code)
    return found


@cache
def _modules(names: tuple[str, ...]) -> tuple[ModuleType, ...]:
    return tuple(import_module(f"gnc_cli.codes.constructions.{name}") for name in names)
