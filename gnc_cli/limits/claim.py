"""A claim about codes and what proves it: the record that all kinds of certificates share."""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Annotated, Any, ClassVar, Literal

from pydantic import FailFast, Field

from gnc_cli.plain import plain
from gnc_cli.runtime.deadline import Deadline

Rational = Annotated[
    str,
    Field(
        pattern=r"^-?(0|[1-9][0-9]{0,4299})(/[1-9][0-9]{0,4299})?$",
        description="A rational number: `-3`, `5/6`.",
    ),
]
Surd = Annotated[
    str,
    Field(
        pattern=r"^-?(0|[1-9][0-9]{0,4299})(/[1-9][0-9]{0,4299})?"
        r"([+-]([1-9][0-9]{0,4299})(/[1-9][0-9]{0,4299})?\*sqrt\(5\))?$",
        description="A number of Q(sqrt(5)): `-3`, `1/4+1/4*sqrt(5)`.",
    ),
]
Rationals = Annotated[tuple[Rational, ...], FailFast()]

_FINE = 10**60
_ROOT = Fraction(isqrt(5 * _FINE**2), _FINE)
"""sqrt(5), rounded down."""


class RefutedError(Exception):
    """A certificate does not prove its claim; the message says what fails."""


class UnresolvedError(Exception):
    """A certificate was not checked to its end; the message names the limit."""


@dataclass(frozen=True, kw_only=True)
class Claim(ABC):
    """A document: the keys that all kinds share, and the check of its claim."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    certificate: Literal["gnc/1"]
    """The format and its version."""
    kind: str
    """What proves the claim; which other keys there are depends on it."""
    d: Annotated[int, Field(ge=2, le=1000)]
    """Dimension."""
    K: Annotated[int, Field(ge=2, le=10**9)]
    """Number of points."""
    cosine: Rational
    """Of the claim, between -1 and 1."""

    @abstractmethod
    def check(self, deadline: Deadline) -> None:
        """Prove the claim with whole numbers and fractions alone.

        Args:
            deadline: passed to `poll` between steps, none of which may take long.

        Raises:
            RefutedError: the claim does not follow.
            UnresolvedError: the proof is larger than what is checked, or the deadline came first.
            ValueError: the fields do not fit each other: the document is malformed.
        """


@dataclass(frozen=True, kw_only=True)
class BoundCertificate(Claim):
    """A document that proves an upper end: every code of K points in R^d has two near points."""

    cosine: Rational
    """s, between -1 and 1: every code of K points in R^d has two points with a larger
    cosine."""
    strict: bool
    """False: with a cosine of at least s."""

    @classmethod
    @abstractmethod
    def from_bound(
        cls, bound: Any, d: int, K: int, deadline: Deadline
    ) -> "BoundCertificate | None":
        """The certificate of what a bound says of K points in R^d.

        Args:
            bound: of this kind; it has been asked for the pair.

        Returns:
            It, or None: there is none, or the deadline came first.
        """


def poll(deadline: Deadline) -> None:
    """Stop a check that takes too long.

    Raises:
        UnresolvedError: the deadline has expired.
    """
    if deadline.expired:
        raise UnresolvedError(
            "the check was interrupted" if deadline.interrupted else "the time limit came first"
        )


def surd(text: str) -> tuple[Fraction, Fraction]:
    """Return a and b of a + b sqrt(5).

    >>> surd("1/4-1/2*sqrt(5)")
    (Fraction(1, 4), Fraction(-1, 2))
    """
    parts = text.removesuffix("*sqrt(5)")
    split = max(parts.rfind("+"), parts.rfind("-")) if parts != text else len(text)
    return Fraction(parts[:split]), Fraction(parts[split:] or 0)


def enclosure(text: str) -> tuple[Fraction, Fraction]:
    """Return two fractions that a number of Q(sqrt(5)) lies between; equal to it if rational."""
    a, b = surd(text)
    ends = a + b * _ROOT, a + b * (_ROOT + Fraction(1, _FINE))
    return min(ends), max(ends)


def document(certificate: Claim) -> bytes:
    """Return the JSON of a certificate, one line."""
    return json.dumps(plain(certificate)).encode("ascii") + b"\n"
