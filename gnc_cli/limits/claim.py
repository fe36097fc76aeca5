"""A claim about codes and its proof: the record that all kinds of certificates share."""

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

_ROOT_UNIT = 10**60
"""Denominator of the bounds of sqrt(5)."""
_ROOT = Fraction(isqrt(5 * _ROOT_UNIT**2), _ROOT_UNIT)
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
    """Format and its version."""
    kind: str
    """Method of the proof, which determines the other keys."""
    d: Annotated[int, Field(ge=2, le=1000)]
    """Dimension."""
    K: Annotated[int, Field(ge=2, le=10**9)]
    """Number of points."""
    cosine: Rational
    """Cosine of the claim, between -1 and 1."""

    @abstractmethod
    def check(self, deadline: Deadline) -> None:
        """Prove the claim with whole numbers and fractions alone.

        Args:
            deadline: passed to `poll` between steps, none of which may take long.

        Raises:
            RefutedError: the claim does not follow.
            UnresolvedError: the proof exceeds the limits of a check, or the deadline came first.
            ValueError: the fields do not fit each other: the document is malformed.
        """


@dataclass(frozen=True, kw_only=True)
class BoundCertificate(Claim):
    """A document that proves an upper end: every code of K points in R^d has two near points."""

    cosine: Rational
    """s, between -1 and 1: every code of K points in R^d has two points with a larger
    cosine."""
    strict: bool
    """True: the cosine is larger than s. False: it is at least s."""

    @classmethod
    @abstractmethod
    def from_bound(
        cls, bound: Any, d: int, K: int, deadline: Deadline
    ) -> "BoundCertificate | None":
        """Return the certificate of a bound on K points in R^d.

        Args:
            bound: the bound that this kind proves; it has been evaluated at (d, K).
            d: dimension.
            K: number of points.
            deadline: polled while certificates are checked.

        Returns:
            The certificate; None if there is none, or the deadline came first.
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
    ends = a + b * _ROOT, a + b * (_ROOT + Fraction(1, _ROOT_UNIT))
    return min(ends), max(ends)


def document(certificate: Claim) -> bytes:
    """Return the JSON of a certificate, one line."""
    return json.dumps(plain(certificate)).encode("ascii") + b"\n"
