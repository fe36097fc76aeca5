"""The table of known spherical codes: our copy, or a text file in the format of the public table.

Beside it the figures of the numerical codes of this project, and the coordinates it ships.
Figures stay decimal text until somebody computes with them, so that no digit is lost on the way.
A look into the table needs nothing but Python itself and is instant.
"""

import csv
import datetime
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.inputs import decoded, open_input
from gnc_cli.known_codes.citation import cited

_DATE = "2026-11"
"""When the figures of our copy were compiled; see data/known_codes/SOURCES.md."""
NUMERICAL_DATE = "2026-11"
"""When our numerical codes were found."""
_NUMERICAL_DIGITS = 1e-12
"""What the figures of our numerical codes are rounded to."""
_OURS = 1e-13
"""What the figures of our copy are good to, where they have that many digits."""
_PUBLIC = 1e-12
"""The public table rounds each cosine up in its twelfth decimal."""
_ROUNDED_UP = 12
_ROUNDED_FROM = 6
"""A figure of the user's table with this many decimals or more is a rounded one."""
_EXACT_FROM = 21
"""A figure of our copy with this many decimals or more is an exact number, rounded in the last."""
_LAYOUT = "d,N,cosine"
_SMALL, _SMALL_K = range(4, 9), 32
"""Sizes that public tables of small codes cover, which we could not read."""
_REDISCOVERED = (
    "rediscovered by gnc, as tables of small codes cover this size: Cohn "
    "(hdl.handle.net/1721.1/142661) and Sloane"
)
_UNCOMPARED = "found by gnc, not compared with a published value"
_CREDITS = {(13, 60): "Granto 2026, one more point by gnc"}
"""Codes of ours whose rigid core is published, by size."""
_EXACT = {(4, 12): "1/4"}
"""Cosines of numerical codes that `compare --digits 150` proves, by size."""
CLAIMED = "claimed"
SOLVED = "solved"
SUM = "sum"


@dataclass(frozen=True)
class TableStamp:
    """Which table of known codes a comparison was made with."""

    rows: int
    """Number of codes in the table."""
    date: str
    """Year and month, or the file's own date (ISO)."""
    sha256: str
    """Checksum of the table's file, in hexadecimal digits."""
    current: bool
    """Given by the user as current (`--table`); our copy otherwise."""

    @property
    def title(self) -> str:
        """Which table, with its date."""
        return f"{'the table' if self.current else 'our copy'} of {self.date}"

    def __str__(self) -> str:
        return f"{self.title} (sha256 {self.sha256})"


@dataclass(frozen=True, slots=True)
class KnownCode:
    """One entry: the smallest largest cosine on record for (d, K)."""

    d: int
    K: int
    figure: str
    """The largest cosine as the table writes it: a fraction, or every decimal."""
    status: str
    """`proved` optimal, `certified` (an exact certificate is public, not refereed), `best-known`,
    `claimed` (nobody has checked it), or `solved` (a numerical code of ours); empty where the table
    does not say; `sum` where entries are put into orthogonal subspaces."""
    rattlers: int | None
    """One-vs-one rattlers, where known."""
    contacts: int | None
    source: str
    """Whom to cite for the code."""
    date: str | None
    """Of the source: year, month or day."""
    note: str
    rounding: float
    """How far the figure may be from the cosine of the code behind it."""
    line: int = 0
    """Its place in the file."""
    command: str | None = None
    """What finds a numerical code of ours, or writes the stored one."""
    optimality: str | None = None
    """Whom to cite for the proof that it is optimal."""

    @property
    def proven(self) -> bool | None:
        """Proved optimal; None where not settled."""
        return self.status == "proved" if self.status else None

    @property
    def max_cosine(self) -> float:
        """The figure as the nearest double."""
        return float(self.exact)

    @property
    def exact(self) -> Fraction:
        """The figure as the rational number that it is."""
        return Fraction(self.figure)

    @property
    def between(self) -> tuple[Fraction, Fraction]:
        """Ends between which the cosine of the code behind the figure lies.

        In a public table twelve decimals are rounded up, and short figures are exact. All others
        are good to `rounding`, either way.
        """
        figure, slack = self.exact, Fraction(Decimal(str(self.rounding)))
        rounded_up = self.rounding == _PUBLIC and _decimals(self.figure) <= _ROUNDED_UP
        return figure - slack, figure if rounded_up else figure + slack


@dataclass(frozen=True, eq=False)
class KnownCodes:
    """A table of known codes with its provenance."""

    stamp: TableStamp
    entries: dict[tuple[int, int], KnownCode]
    claims: tuple[KnownCode, ...] = ()
    """Rows that nobody has checked: they are shown, and count nowhere."""
    path: str = ""
    """Of the file."""

    def find(self, d: int, K: int) -> KnownCode | None:
        """The entry of (d, K), or None."""
        return self.entries.get((d, K))

    def merged(self, other: "KnownCodes") -> "KnownCodes":
        """This table with what is new or better in another; of the same figures ours stays."""
        if other is self:
            return self
        better = {
            pair: entry
            for pair, entry in other.entries.items()
            if pair not in self.entries or entry.between[1] < self.entries[pair].between[1]
        }
        claims = (*self.claims, *other.claims)
        return KnownCodes(other.stamp, self.entries | better, claims, other.path)

    def covering(self, d: int, K: int) -> KnownCode | None:
        """The best entry with at least K points in at most d dimensions, or None.

        Its first K points, with zeros appended, are a code of (d, K).
        """
        return next((e for e in self.best_first if e.d <= d and e.K >= K), None)

    def summed(self, d: int, K: int) -> KnownCode | None:
        """The entries that in orthogonal subspaces of R^d have at least K points, as one code; None
        where a single one is as good, or none do.

        Points of different entries are orthogonal, so the largest cosine is that of the entries.
        """
        if K <= 2 * d:  # an orthoplex has as many
            return None
        single = self.covering(d, K)
        bar = 1.0 if single is None else float(single.between[1])
        cosine = self.summands.least(d, K, bar)
        return None if cosine is None else self.fullest(d, cosine)

    def fullest(self, d: int, cosine: float) -> KnownCode | None:
        """The most points in orthogonal subspaces of R^d at this largest cosine, as one code; None
        where no entry is part of them.
        """
        K, parts = self.summands.fullest(d, cosine)
        if not parts:
            return None
        counts = Counter(sorted(parts, key=lambda part: -part.d))
        sizes = [f"{n} x " * (n > 1) + f"({part.d}, {part.K})" for part, n in counts.items()]
        idle = d - sum(part.d for part in parts)
        sizes += [f"({idle}, {2 * idle})"] if idle else []
        return replace(
            max(parts, key=lambda part: part.between[1]),
            d=d,
            K=K,
            status=SUM,
            source=f"{' + '.join(sizes)} in orthogonal subspaces: "
            + "; ".join(dict.fromkeys(part.source for part in counts)),
        )

    @cached_property
    def summands(self) -> Any:
        """The entries that orthogonal sums are made of, `sums.Summands`."""
        from gnc_cli.constructions.sums import Summands  # with numpy
        from gnc_cli.geometry.rounding import rounded_up

        some = [entry for entry in self.best_first if entry.K > 2 * entry.d]
        return Summands(some, [rounded_up(entry.between[1]) for entry in some])

    @cached_property
    def best_first(self) -> list[KnownCode]:
        """By the cosine that is certainly had."""
        return sorted(self.entries.values(), key=lambda entry: entry.between[1])

    def select(
        self,
        d: Collection[int] | None = None,
        K: Collection[int] | None = None,
        *,
        proven: bool = False,
    ) -> Iterator[KnownCode]:
        """Entries and claims by dimension, then size: those with d and K among the given, or
        all.
        """
        claims = {(claim.d, claim.K): claim for claim in self.claims}
        for _, entry in sorted((claims | self.entries).items()):
            among = (d is None or entry.d in d) and (K is None or entry.K in K)
            if among and (entry.proven or not proven):
                yield entry


@dataclass(frozen=True)
class Cardinality:
    """At most K points in d dimensions have all cosines at most `cosine`."""

    d: int
    cosine: Fraction
    """Rounded down, where it is irrational."""
    K: int
    status: str
    """`proved`; `certified` (not refereed); `numerical` (not rigorous)."""
    source: str


@lru_cache(maxsize=1)
def our_copy() -> KnownCodes:
    """Our copy of the known codes, as this version ships it."""
    path = data_folder() / "table.csv"
    data = path.read_bytes()
    return _table(data, data.decode("utf-8"), str(path), "our copy", _DATE, current=False)


def stored_cardinalities() -> list[Cardinality]:
    """The bounds on numbers of points that this version ships, `data/known_codes/cardinality.csv`:
    kissing numbers and the sizes of optimal codes.
    """
    text = (data_folder() / "cardinality.csv").read_text(encoding="utf-8")
    return [
        Cardinality(int(r["d"]), Fraction(r["cosine"]), int(r["K"]), r["status"], r["source"])
        for r in csv.DictReader(text.splitlines())
    ]


@lru_cache(maxsize=1)
def numerical_codes() -> KnownCodes:
    """The codes that this project found, `data/known_codes/margins.csv`: Tammes codes, whose
    largest cosine is 1 - rho, rho the certified lower end of the one-vs-rest distance.
    """
    path = data_folder() / "margins.csv"
    data = path.read_bytes()
    entries = {}
    for row in csv.DictReader(data.decode("utf-8").splitlines()):
        d, K = int(row["d"]), int(row["K"])
        figure = _EXACT.get((d, K), f"{1.0 - float(row['rho_one_vs_rest']):.12f}")
        entries[d, K] = KnownCode(
            d,
            K,
            figure,
            SOLVED,
            None,
            None,
            _our_source(d, K, figure),
            NUMERICAL_DATE,
            "",
            _NUMERICAL_DIGITS,
            command=row["command"],
        )
    stamp = TableStamp(len(entries), NUMERICAL_DATE, sha256(data).hexdigest(), current=False)
    return KnownCodes(stamp, entries, path=str(path))


def _our_source(d: int, K: int, figure: str) -> str:
    """Return what is said of a numerical code of ours beside published ones."""
    listed = our_copy().find(d, K)
    if listed is None:
        return _REDISCOVERED if d in _SMALL and K <= _SMALL_K else _UNCOMPARED
    better = "better" if Fraction(figure) < listed.exact else "no better"
    author = cited(listed.source)
    dated = author if (listed.date or "") in author else f"{author}, {listed.date}"
    published = f"{listed.max_cosine:.15g} of {dated}"
    finder = _CREDITS.get((d, K), "found by gnc")
    return f"{finder}, {better} than the {published}; the live table may have moved"


def read_public_table(path: str | os.PathLike[str]) -> KnownCodes:
    """A table that the user has: `d,N,cosine` per line, or the columns of our own table.csv.

    N is our K. Blank lines and lines that begin with # are passed over; a first line of words may
    name the columns. The table's date is that of the file, so `-` is refused.

    Raises:
        DataError: a line is no entry, or has the (d, N) of another; the message has its number.
    """
    name = os.fspath(path)
    if name == "-":
        raise UsageError("--table - has no date to name; save the table in a file first")
    with open_input(name) as file:
        data = file.read()
        text = decoded(file, name, f"a table of known codes holds {_LAYOUT} a line")
        changed = os.stat(name).st_mtime
    date = datetime.datetime.fromtimestamp(changed, datetime.UTC).date().isoformat()
    return _table(data, text, name, PurePath(name).name, date, current=True)


def data_folder() -> Path:
    """Where the figures lie."""
    package = Path(__file__).parent.parent
    # In a wheel the data lies inside the package, in a checkout beside it.
    for folder in (package / "data", package.parent / "data"):
        if (folder / "known_codes" / "table.csv").is_file():
            return folder / "known_codes"
    raise DataError("this installation has no data/known_codes/table.csv; install gnc-cli anew")


def _table(
    data: bytes, text: str, path: str, source: str, date: str, *, current: bool
) -> KnownCodes:
    columns, width = {"d": 0, "K": 1, "max_cosine": 2}, 3
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    entries: dict[tuple[int, int], KnownCode] = {}
    for number, line in lines:
        where = f"{path!r}, line {number}: {_cut(line)!r}"
        try:
            (fields,) = csv.reader([line], skipinitialspace=True)
        except csv.Error as error:
            raise DataError(f"{where}: {error}") from error
        fields = [field.strip() for field in fields]
        if number == lines[0][0] and not re.match(r"[-+.\d]", fields[0]):
            columns, width = _columns(fields, where), len(fields)
            continue
        if len(fields) != width:
            raise DataError(f"{where} has {len(fields)} fields, not {width}; expected {_LAYOUT}")
        named = {name: fields[at] for name, at in columns.items()}
        entry = _entry(named, number, where, source, date, current)
        held = entries.setdefault((entry.d, entry.K), entry)
        if held is not entry:
            raise DataError(f"{where} has the d and N of line {held.line}; keep one of them")
    if not entries:
        raise DataError(f"{path!r} holds no entries; expected {_LAYOUT} a line")
    claims = tuple(entry for entry in entries.values() if entry.status == CLAIMED)
    stamp = TableStamp(len(entries), date, sha256(data).hexdigest(), current)
    entries = {pair: entry for pair, entry in entries.items() if entry.status != CLAIMED}
    return KnownCodes(stamp, entries, claims, path)


def _columns(names: list[str], where: str) -> dict[str, int]:
    """Where each of our columns lies, by the names of the header."""
    ours = {"N": "K", "n": "K", "cosine": "max_cosine"}
    columns = {ours.get(name, name): at for at, name in enumerate(names)}
    missing = {"d", "K", "max_cosine"} - set(columns)
    if missing:
        raise DataError(
            f"{where} is neither {_LAYOUT} nor names these columns; put # before lines of words"
        )
    return columns


def _entry(
    named: dict[str, str], line: int, where: str, source: str, date: str, current: bool
) -> KnownCode:
    d, K = (_count(named[name], f"{where}: {name}", least=2) for name in ("d", "K"))
    figure = named["max_cosine"]
    number = r"(?=.{1,400}$)[-+]?(\d{1,9}/[1-9]\d{0,8}|(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?)"
    if not re.fullmatch(number, figure, re.ASCII):
        raise DataError(
            f"{where}: cosine {_cut(figure)!r} is no decimal number of 400 digits or fewer"
        )
    # No K unit vectors do better than the simplex (Rankin 1955); a typing error may.
    if not -1.0 / (K - 1) - 1e-11 <= Fraction(figure) < 1:
        raise DataError(
            f"{where}: cosine {_cut(figure)} of {K} points; it must lie between -1/{K - 1} and 1"
        )
    rattlers, contacts = (
        _count(named[name], f"{where}: {name}", least=0) if named.get(name) else None
        for name in ("rattlers", "contacts")
    )
    return KnownCode(
        d,
        K,
        figure,
        named.get("status", ""),
        rattlers,
        contacts,
        named.get("source") or source,
        named.get("date") or date,
        named.get("note", ""),
        _rounding(figure, current),
        line,
        optimality=named.get("optimality") or None,
    )


def _decimals(figure: str) -> int:
    return len(figure.partition(".")[2])


def _rounding(figure: str, current: bool) -> float:
    """What a figure is good to: in our copy fractions and whole numbers are exact; in a table of
    the user's short figures are, as 0.25 is, others are good to half a unit of their last digit.
    """
    decimals = _decimals(figure)
    if current:
        return max(_PUBLIC, 0.5 * 10.0**-decimals) if decimals >= _ROUNDED_FROM else _PUBLIC
    if not decimals:
        return 0.0
    return 10.0**-decimals if decimals >= _EXACT_FROM else max(_OURS, 5 * 10.0**-decimals)


def _count(text: str, where: str, least: int) -> int:
    # Of larger numbers a stranger's table can choose pairs that have one hash.
    if not re.fullmatch(r"\d{1,15}", text, re.ASCII) or int(text) < least:
        raise DataError(
            f"{where} is {_cut(text)!r}; expected a whole number of at least {least} and at most "
            "fifteen digits"
        )
    return int(text)


def _cut(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."
