"""How an option is declared: a parser that names it on error, a panel, a help text."""

from collections.abc import Callable
from functools import partial
from typing import Any

import typer

from gnc_cli import parsing
from gnc_cli.errors import UsageError

__all__ = [
    "GATES", "OUTPUT", "RUN", "Floats", "Ints", "door", "floats", "integer", "ints", "option",
    "positive",
]  # fmt: skip

RUN = "Effort and machine"
OUTPUT = "Output"
GATES = "Gates for CI"


class Floats(list[float]):
    """Several numbers from one option; Typer would take a plain list for a repeatable one."""


class Ints(list[int]):
    """Several whole numbers from one option."""


def ints(text: str) -> Ints:
    """Whole numbers, at least 2 each: `3,5,8`, `2..64`."""
    return Ints(parsing.integers(text, least=2))


def floats(text: str) -> Floats:
    """Numbers above 0: `1,0.5`, `1..0.001/13`."""
    return Floats(parsing.numbers(text, above=0.0))


def door(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """`parse` as Typer wants it: its UsageError becomes a message that names the option."""

    def parser(text: Any) -> Any:
        try:
            # Typer hands defaults through as well, which are values already.
            return parse(text) if isinstance(text, str) else text
        except UsageError as error:
            raise typer.BadParameter(str(error)) from None

    return parser


def option(*names: str, panel: str, help: str, **more: Any) -> Any:
    """An option in a panel; its help text names the default itself."""
    return typer.Option(*names, rich_help_panel=panel, help=help, show_default=False, **more)


def integer(least: int) -> Callable[[str], Any]:
    """A parser of whole numbers of at least `least`."""
    return door(partial(parsing.integer, least=least))


positive = door(partial(parsing.number, above=0.0))
"""A parser of numbers above 0."""
