"""The table of known spherical codes: our copy, or a text file in the format of the public table.

The cosines of the numerical codes of this project are a second table. Cosines are decimal text
until they are needed as numbers, so that no digit is lost. The table needs no package but Python's
own, and is read at once.
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
from typing import TYPE_CHECKING

from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.inputs import decoded, open_input
from gnc_cli.known_codes.citation import cite

if TYPE_CHECKING:
    from gnc_cli.constructions.sums import Summands

_DATE = "2026-11"
"""Month in which our copy was compiled; see data/known_codes/SOURCES.md."""
NUMERICAL_DATE = "2026-11"
"""Month in which our numerical codes were found."""
_NUMERICAL_ROUNDING = 1e-12
"""Rounding of the cosines of our numerical codes."""
_COPY_ROUNDING = 1e-13
"""Smallest rounding of decimals of our copy."""
_PUBLIC_ROUNDING = 1e-12
"""Rounding of the public table, which rounds each cosine up in its twelfth decimal."""
_PUBLIC_DECIMALS = 12
"""Number of decimals of the public table."""
_MIN_ROUNDED_DECIMALS = 6
"""Smallest number of decimals of a rounded cosine in the user's table; shorter ones are exact."""
_MIN_EXACT_DECIMALS = 21
"""Smallest number of decimals of an exact number in our copy, rounded in the last."""
_LAYOUT = "d,N,cosine"
"""Columns of the public table."""
_SMALL_DIMENSIONS, _SMALL_K = range(4, 9), 32
"""Dimensions, and largest K, of public tables of small codes, which we could not read."""
_REDISCOVERY = (
    "rediscovered by gnc, not compared: the tables of small codes by Cohn "
    "(hdl.handle.net/1721.1/142661) and Sloane have this size"
)
"""Source of numerical codes of sizes that those tables cover."""
_DISCOVERY = "found by gnc, not compared with a published value"
"""Source of the other numerical codes of pairs that our copy lacks."""
_CREDITS = {(13, 60): "Granto 2026, one more point by gnc"}
"""Finders of numerical codes whose rigid core is published, by (d, K)."""
_EXACT_COSINES = {(4, 12): "1/4"}
"""Cosines of numerical codes that `compare --digits 150` proves, by (d, K)."""
STATUS_CLAIMED = "claimed"
"""Status of codes that nobody has checked."""
STATUS_SOLVED = "solved"
"""Status of numerical codes of this project."""
STATUS_SUM = "sum"
"""Status of entries in orthogonal subspaces."""


@dataclass(frozen=True)
class TableStamp:
    """Identity of a table of known codes."""

    rows: int
    """Number of codes in the table."""
    date: str
    """Year and month, or the file's own date (ISO)."""
    sha256: str
    """Checksum of the table's file, in hexadecimal digits."""
    current: bool
    """True for the user's table (`--table`), which is taken as current; False for our copy."""

    @property
    def title(self) -> str:
        """Name of the table, with its date."""
        return f"{'the table' if self.current else 'our copy'} of {self.date}"

    def __str__(self) -> str:
        return f"{self.title} (sha256 {self.sha256})"


@dataclass(frozen=True, slots=True)
class KnownCode:
    """Entry of a table: the smallest largest cosine on record for (d, K)."""

    d: int
    """Dimension."""
    K: int
    """Number of points."""
    figure: str
    """Largest cosine as the table writes it: a fraction, or every decimal."""
    status: str
    """Status: `proved` optimal, `certified` (an exact certificate is public, not refereed),
    `best-known`, `claimed` (nobody has checked it), `solved` (a numerical code of ours) or `sum`
    (entries in orthogonal subspaces); empty if the table does not say."""
    rattlers: int | None
    """Number of one-vs-one rattlers, if known."""
    contacts: int | None
    """Number of contacts, if known."""
    source: str
    """Source of the code."""
    date: str | None
    """Date of the source: year, month or day."""
    note: str
    """Note of the table."""
    rounding: float
    """Largest difference between the written cosine and that of the code."""
    line: int = 0
    """Number of the line in the file."""
    command: str | None = None
    """Command that finds a numerical code of ours, or writes the stored one."""
    optimality: str | None = None
    """Source of the proof that it is optimal."""

    @property
    def proven(self) -> bool | None:
        """True if it is proved optimal; None if that is not settled."""
        return self.status == "proved" if self.status else None

    @property
    def max_cosine(self) -> float:
        """Largest cosine as the nearest double."""
        return float(self.exact)

    @property
    def exact(self) -> Fraction:
        """Largest cosine as the rational number that is written."""
        return Fraction(self.figure)

    @property
    def interval(self) -> tuple[Fraction, Fraction]:
        """Lower and upper end of the code's largest cosine.

        In a public table twelve decimals are rounded up, and short numbers are exact. All others
        are accurate to `rounding` in both directions.
        """
        value, slack = self.exact, Fraction(Decimal(str(self.rounding)))
        rounded_up = (
            self.rounding == _PUBLIC_ROUNDING
            and len(self.figure.partition(".")[2]) <= _PUBLIC_DECIMALS
        )
        return value - slack, value if rounded_up else value + slack


@dataclass(frozen=True, eq=False)
class KnownCodes:
    """Table of known codes with its provenance."""

    stamp: TableStamp
    """Identity of the table."""
    entries: dict[tuple[int, int], KnownCode]
    """Entries by (d, K)."""
    claims: tuple[KnownCode, ...] = ()
    """Entries that nobody has checked: they are shown, and never counted."""
    path: str = ""
    """Path of the file."""

    def find(self, d: int, K: int) -> KnownCode | None:
        """Return the entry of (d, K), or None."""
        return self.entries.get((d, K))

    def merged(self, other: "KnownCodes") -> "KnownCodes":
        """Add entries of another table that are new or better; on ties this table's are kept."""
        if other is self:
            return self
        better = {
            pair: entry
            for pair, entry in other.entries.items()
            if pair not in self.entries or entry.interval[1] < self.entries[pair].interval[1]
        }
        claims = (*self.claims, *other.claims)
        return KnownCodes(other.stamp, self.entries | better, claims, other.path)

    def covering(self, d: int, K: int) -> KnownCode | None:
        """Return the best entry with at least K points in at most d dimensions, or None.

        Its first K points, with zeros appended, are a code of (d, K).
        """
        return next((e for e in self.best_first if e.d <= d and e.K >= K), None)

    def summed(self, d: int, K: int) -> KnownCode | None:
        """Join entries in orthogonal subspaces of R^d to a code of at least K points.

        None if a single entry is as good, or there is no such code. Points of different entries are
        orthogonal, so the largest cosine is that of the entries.
        """
        if K <= 2 * d:  # an orthoplex has as many
            return None
        single = self.covering(d, K)
        single_cosine = 1.0 if single is None else float(single.interval[1])
        cosine = self.summands.least_cosine(d, K, single_cosine)
        return None if cosine is None else self.fullest(d, cosine)

    def fullest(self, d: int, cosine: float) -> KnownCode | None:
        """Join entries in orthogonal subspaces of R^d to the largest code of this largest cosine.

        None if no entry is part of it.
        """
        K, parts = self.summands.fullest(d, cosine)
        if not parts:
            return None
        counts = Counter(sorted(parts, key=lambda part: -part.d))
        sizes = [f"{n} x " * (n > 1) + f"({part.d}, {part.K})" for part, n in counts.items()]
        idle = d - sum(part.d for part in parts)
        sizes += [f"({idle}, {2 * idle})"] if idle else []
        return replace(
            max(parts, key=lambda part: part.interval[1]),
            d=d,
            K=K,
            status=STATUS_SUM,
            source=f"{' + '.join(sizes)} in orthogonal subspaces: "
            + "; ".join(dict.fromkeys(part.source for part in counts)),
        )

    @cached_property
    def summands(self) -> "Summands[KnownCode]":
        """Entries of which orthogonal sums are made, `sums.Summands`."""
        from gnc_cli.constructions.sums import Summands  # with numpy
        from gnc_cli.geometry.rounding import rounded_up

        entries = [entry for entry in self.best_first if entry.K > 2 * entry.d]
        return Summands(entries, [rounded_up(entry.interval[1]) for entry in entries])

    @cached_property
    def best_first(self) -> list[KnownCode]:
        """Entries in the order of the upper ends of their cosines."""
        return sorted(self.entries.values(), key=lambda entry: entry.interval[1])

    def select(
        self,
        d: Collection[int] | None = None,
        K: Collection[int] | None = None,
        *,
        proven: bool = False,
    ) -> Iterator[KnownCode]:
        """Yield entries and claims by dimension, then size, of some d and K or of all."""
        claims = {(claim.d, claim.K): claim for claim in self.claims}
        for _, entry in sorted((claims | self.entries).items()):
            selected = (d is None or entry.d in d) and (K is None or entry.K in K)
            if selected and (entry.proven or not proven):
                yield entry


@dataclass(frozen=True)
class Cardinality:
    """Bound: at most K points in d dimensions have all cosines at most `cosine`."""

    d: int
    """Dimension."""
    cosine: Fraction
    """Largest cosine, rounded down if it is irrational."""
    K: int
    """Largest number of points."""
    status: str
    """Status: `proved`; `certified` (not refereed); `numerical` (not rigorous)."""
    source: str
    """Source of the bound."""


@lru_cache(maxsize=1)
def our_copy() -> KnownCodes:
    """Return our copy of the known codes, as this version ships it."""
    path = data_folder() / "table.csv"
    data = path.read_bytes()
    return _table(data, data.decode("utf-8"), str(path), "our copy", _DATE, current=False)


def stored_cardinalities() -> list[Cardinality]:
    """List the bounds on numbers of points in `data/known_codes/cardinality.csv`.

    They are kissing numbers and the sizes of optimal codes.
    """
    text = (data_folder() / "cardinality.csv").read_text(encoding="utf-8")
    return [
        Cardinality(int(r["d"]), Fraction(r["cosine"]), int(r["K"]), r["status"], r["source"])
        for r in csv.DictReader(text.splitlines())
    ]


@lru_cache(maxsize=1)
def numerical_codes() -> KnownCodes:
    """Return the codes that this project found, `data/known_codes/margins.csv`.

    They are Tammes codes, whose largest cosine is 1 - rho, rho the certified lower end of the
    one-vs-rest distance.
    """
    path = data_folder() / "margins.csv"
    data = path.read_bytes()
    entries = {}
    for row in csv.DictReader(data.decode("utf-8").splitlines()):
        d, K = int(row["d"]), int(row["K"])
        figure = _EXACT_COSINES.get((d, K), f"{1.0 - float(row['rho_one_vs_rest']):.12f}")
        entries[d, K] = KnownCode(
            d,
            K,
            figure,
            STATUS_SOLVED,
            rattlers=None,
            contacts=None,
            source=_numerical_source(d, K, figure),
            date=NUMERICAL_DATE,
            note="",
            rounding=_NUMERICAL_ROUNDING,
            command=row["command"],
        )
    stamp = TableStamp(len(entries), NUMERICAL_DATE, sha256(data).hexdigest(), current=False)
    return KnownCodes(stamp, entries, path=str(path))


def _numerical_source(d: int, K: int, figure: str) -> str:
    """Return the source of a numerical code of ours, compared with published ones."""
    entry = our_copy().find(d, K)
    if entry is None:
        return _REDISCOVERY if d in _SMALL_DIMENSIONS and K <= _SMALL_K else _DISCOVERY
    better = "better" if Fraction(figure) < entry.exact else "no better"
    author = cite(entry.source)
    dated = author if (entry.date or "") in author else f"{author}, {entry.date}"
    published = f"{entry.max_cosine:.15g} of {dated}"
    finder = _CREDITS.get((d, K), "found by gnc")
    return f"{finder}, {better} than the {published}; the live table may have moved"


def read_public_table(path: str | os.PathLike[str]) -> KnownCodes:
    """Read the user's table: `d,N,cosine` per line, or the columns of our table.csv.

    N is our K. Blank lines and lines that begin with # are skipped; a first line of words may name
    the columns. The table's date is that of the file, so `-` is refused.

    Raises:
        DataError: a line is not an entry, or has the (d, N) of another; the message has its number.
        UsageError: the path is `-`.
    """
    name = os.fspath(path)
    if name == "-":
        raise UsageError("--table - has no date to name; save the table in a file first")
    with open_input(name) as file:
        data = file.read()
        text = decoded(file, name, f"a table of known codes holds {_LAYOUT} a line")
        mtime = os.stat(name).st_mtime
    date = datetime.datetime.fromtimestamp(mtime, datetime.UTC).date().isoformat()
    return _table(data, text, name, PurePath(name).name, date, current=True)


def data_folder() -> Path:
    """Return the folder of the tables and stored codes."""
    package = Path(__file__).parent.parent
    # In a wheel the data lies inside the package, in a checkout next to it.
    for folder in (package / "data", package.parent / "data"):
        if (folder / "known_codes" / "table.csv").is_file():
            return folder / "known_codes"
    raise DataError("this installation has no data/known_codes/table.csv; install gnc-cli again")


def _table(
    data: bytes, text: str, path: str, source: str, date: str, *, current: bool
) -> KnownCodes:
    """Read the lines of a table; see `read_public_table`."""
    columns, width = {"d": 0, "K": 1, "max_cosine": 2}, 3
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    entries: dict[tuple[int, int], KnownCode] = {}
    for number, line in lines:
        place = f"{path!r}, line {number}: {_shorten(line)!r}"
        try:
            (fields,) = csv.reader([line], skipinitialspace=True)
        except csv.Error as error:
            raise DataError(f"{place}: {error}") from error
        fields = [field.strip() for field in fields]
        if number == lines[0][0] and not re.match(r"[-+.\d]", fields[0]):
            columns, width = _columns(fields, place), len(fields)
            continue
        if len(fields) != width:
            raise DataError(f"{place} has {len(fields)} fields, not {width}; expected {_LAYOUT}")
        cells = {name: fields[column] for name, column in columns.items()}
        entry = _entry(cells, number, place, source, date, current)
        earlier = entries.setdefault((entry.d, entry.K), entry)
        if earlier is not entry:
            raise DataError(f"{place} has the d and N of line {earlier.line}; keep one of them")
    if not entries:
        raise DataError(f"{path!r} holds no entries; expected {_LAYOUT} a line")
    claims = tuple(entry for entry in entries.values() if entry.status == STATUS_CLAIMED)
    stamp = TableStamp(len(entries), date, sha256(data).hexdigest(), current)
    entries = {pair: entry for pair, entry in entries.items() if entry.status != STATUS_CLAIMED}
    return KnownCodes(stamp, entries, claims, path)


def _columns(names: list[str], place: str) -> dict[str, int]:
    """Return the index of each of our columns, by the names of the header."""
    aliases = {"N": "K", "n": "K", "cosine": "max_cosine"}
    columns = {aliases.get(name, name): column for column, name in enumerate(names)}
    missing = {"d", "K", "max_cosine"} - set(columns)
    if missing:
        raise DataError(
            f"{place} is neither {_LAYOUT} nor names these columns; put # before lines of words"
        )
    return columns


def _entry(
    cells: dict[str, str], line: int, place: str, source: str, date: str, current: bool
) -> KnownCode:
    """Read the entry of a line from its cells; `place` names file and line in messages."""
    d, K = (_count(cells[name], f"{place}: {name}", minimum=2) for name in ("d", "K"))
    figure = cells["max_cosine"]
    number = r"(?=.{1,400}$)[-+]?(\d{1,9}/[1-9]\d{0,8}|(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,3})?)"
    if not re.fullmatch(number, figure, re.ASCII):
        raise DataError(
            f"{place}: cosine {_shorten(figure)!r} is no decimal number of 400 digits or fewer"
        )
    # No K unit vectors do better than the simplex (Rankin 1955); a typing error may.
    if not -1.0 / (K - 1) - 1e-11 <= Fraction(figure) < 1:
        raise DataError(
            f"{place}: cosine {_shorten(figure)} of {K} points; "
            f"it must lie between -1/{K - 1} and 1"
        )
    rattlers, contacts = (
        _count(cells[name], f"{place}: {name}", minimum=0) if cells.get(name) else None
        for name in ("rattlers", "contacts")
    )
    return KnownCode(
        d,
        K,
        figure,
        cells.get("status", ""),
        rattlers=rattlers,
        contacts=contacts,
        source=cells.get("source") or source,
        date=cells.get("date") or date,
        note=cells.get("note", ""),
        rounding=_rounding(figure, current),
        line=line,
        optimality=cells.get("optimality") or None,
    )


def _rounding(figure: str, current: bool) -> float:
    """Return the rounding of a written cosine.

    In our copy fractions and whole numbers are exact. In a user's table short decimals such as 0.25
    are exact; others are accurate to half a unit of their last digit.
    """
    decimals = len(figure.partition(".")[2])
    if current:
        return (
            max(_PUBLIC_ROUNDING, 0.5 * 10.0**-decimals)
            if decimals >= _MIN_ROUNDED_DECIMALS
            else _PUBLIC_ROUNDING
        )
    if not decimals:
        return 0.0
    return (
        10.0**-decimals
        if decimals >= _MIN_EXACT_DECIMALS
        else max(_COPY_ROUNDING, 5 * 10.0**-decimals)
    )


def _count(text: str, place: str, minimum: int) -> int:
    # Larger numbers could be chosen so that all pairs of a table have the same hash.
    if not re.fullmatch(r"\d{1,15}", text, re.ASCII) or int(text) < minimum:
        raise DataError(
            f"{place} is {_shorten(text)!r}; expected a whole number of at least {minimum} and at "
            "most fifteen digits"
        )
    return int(text)


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."
