"""Families of codes of quadratic forms over GF(s), s > 2: whole, shortened, extended.

With n = s^e, h = s^ceil(e/2) and Q = n forms for odd e, sqrt(n) for even e:

| name | d | K | largest cosine |
|---|---|---|---|
| `quadric-s-e` | (s - 1) n | s n (Q + 1) | h/d |
| `quadric-s-e-shortened-i` | (s - 1)(n - i) | s^(e + 1 - i) Q | (h - (s - 1) i)/d |
| `quadric-s-e-extended`, e even | (s - 1) n + Q - 1 | s n Q | (Q - 1)/d |

For e = 2 these are subsets of the code of isotropic lines, which has K = (s + 1)(s^3 + 1) rows at
1/s^2 in s (s^2 - s + 1) dimensions; for s = 2 they are Gold's and parts of Kerdock's code.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial

from gnc_cli.codes.constructions.construction import Construction, Cosine, Family
from gnc_cli.codes.constructions.log_fields import prime_powers
from gnc_cli.codes.constructions.quadric_rows import QuadricRows
from gnc_cli.codes.constructions.quadric_words import quadric_words

__all__ = ["FAMILIES", "in_dimension", "named"]

_REFERENCE = "Calderbank and Kantor 1986, The geometry of two-weight codes"
_MOST = 4096
"""Dimensions up to which codes are offered."""

FAMILIES = (
    Family(
        name="quadric-s-e",
        title="quadratic forms in e variables over GF(s), symbols as vertices of a simplex",
        range="s = 3, 4, 5, 7, .. a power of a prime, e = 1, 2, .., d <= 4096",
        d="(s-1) s^e",
        K="s^(3e/2+1) + s^(e+1), e even; s^(2e+1) + s^(e+1), e odd",
        cosine="s^ceil(e/2)/d",
        reference=_REFERENCE,
    ),
    Family(
        name="quadric-s-e-shortened-i",
        title="those forms that are 0 at i points",
        range="as quadric-s-e; i = 1, 2, .., e",
        d="(s-1)(s^e-i)",
        K="s^(3e/2+1-i), e even; s^(2e+1-i), e odd",
        cosine="(s^ceil(e/2)-(s-1)i)/d",
        reference=_REFERENCE,
    ),
    Family(
        name="quadric-s-e-extended",
        title="those forms, each a vertex of a further simplex as well",
        range="as quadric-s-e, e even",
        d="(s-1) s^e + s^(e/2) - 1",
        K="s^(3e/2+1)",
        cosine="(s^(e/2)-1)/d",
        reference=_REFERENCE,
    ),
)


def named(name: str) -> Construction | None:
    """`quadric-3-5`, `quadric-3-5-shortened-1`, `quadric-4-4-extended` and their like, or None.

    Example:
        >>> code = named("quadric-4-4-extended")
        >>> code.d, code.K, code.cosine.text
        (783, 16384, '5/261')
    """
    return _codes().get(name)


def in_dimension(d: int) -> Iterator[Construction]:
    """The codes in exactly d dimensions."""
    yield from _by_dimension().get(d, ())


@cache
def _by_dimension() -> dict[int, list[Construction]]:
    found: dict[int, list[Construction]] = {}
    for code in _codes().values():
        found.setdefault(code.d, []).append(code)
    return found


@cache
def _codes() -> dict[str, Construction]:
    """Every code that is offered, by name."""
    found = {}
    for s in prime_powers():
        if s * (s - 1) > _MOST:
            break
        e = 1
        while s > 2 and (s - 1) * s**e <= _MOST:
            for change in _changes(s, e):
                code = _code(s, e, *change)
                found[code.name] = code
            e += 1
    return found


def _changes(s: int, e: int) -> Iterator[tuple[int, bool]]:
    """Places left out, and whether the form is added, where rows and cosine are worth it."""
    yield 0, False
    for i in range(1, e + 1):
        if s ** (e + 1 - i) * _forms(s, e) > 2 * (s - 1) * (s**e - i):
            yield i, False
    if e % 2 == 0 and (s - 1) * s**e + s ** (e // 2) - 1 <= _MOST:
        yield 0, True


def _forms(s: int, e: int) -> int:
    return int(s**e) if e % 2 else int(s ** (e // 2))


def _code(s: int, e: int, shortened: int, extended: bool) -> Construction:
    n, forms = s**e, _forms(s, e)
    d = (s - 1) * (n - shortened) + (forms - 1) * extended
    top = forms - 1 if extended else s ** ((e + 1) // 2) - (s - 1) * shortened
    change = f"-shortened-{shortened}" if shortened else "-extended" * extended
    title = f"quadratic forms in {e} variables over GF({s}), symbols as vertices of a simplex"
    title += f", 0 at {shortened} points" if shortened else ""
    return Construction(
        name=f"quadric-{s}-{e}{change}",
        title=title,
        d=d,
        K=s ** (e + 1 - shortened) * forms + s * n * (not shortened and not extended),
        cosine=Cosine.of(Fraction(top, d)),
        proven=False,
        reference=_REFERENCE,
        build=partial(_rows, s, e, shortened, extended),
    )


def _rows(s: int, e: int, shortened: int, extended: bool) -> QuadricRows:
    return QuadricRows(quadric_words(s, e), shortened, extended)
