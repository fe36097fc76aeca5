"""A call of `bounds`: the declaration of its arguments, and the rules of their combination."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from math import pi
from typing import Annotated, Any

from gnc_cli.errors import UsageError
from gnc_cli.io.arguments import Call
from gnc_cli.limits.limit import LP_DIMENSIONS, Quantity, is_small
from gnc_cli.parameters import (
    DURATION,
    MOST_PAIRS,
    Force,
    Kind,
    Parameter,
    Path,
    Plot,
    PublicTable,
    Read,
    declared,
    excludes,
    one_of,
    real,
    requires,
    spelled,
    wholes,
)
from gnc_cli.parsing import EXPRESSION_MARKS, nearest_float, number

_MOST_D, _MOST_K = 10**5, 10**18
"""Largest d and K of a call, far beyond networks and known codes."""
_MOST_ANSWERS = 10_000
"""Largest number of dimensions or sizes in a question without pairs, one row of `best` each."""
_VERIFY_OPTIONS = ("verify", "time_limit", "force")
"""Options that `--verify` allows."""
_CODE_OPTIONS = ("margin", "arcface_m", "probability", "lp", "sdp", "table", "export")
"""Options of spherical codes and margins, which lines exclude."""
_QUESTION = "Problem"
_CERTIFICATES = "Certificates"


def _cosine(value: Any) -> float:
    """Read a number, or an expression such as `sqrt(5)/5`."""
    if isinstance(value, str) and EXPRESSION_MARKS.search(value):
        try:
            value = nearest_float(value.strip())
        except ValueError as error:
            raise UsageError(f"{error}; give one such as 0.5, 1/3 or sqrt(5)/5") from None
    return number(value, minimum=-1.0, less_than=1.0)


@dataclass(frozen=True, eq=False)
class Bounds(Call):
    """A call of `bounds`.

    Raises:
        UsageError: arguments are missing or contradict each other.
    """

    d: Annotated[
        Read[int | Iterable[int] | str | None, tuple[int, ...] | None],
        Parameter(
            "Dimensions, 2 to 1e5: 512, 128,256,512 or 2..512.",
            wholes(2, _MOST_D),
            _QUESTION,
            short="-d",
        ),
    ] = Read(None)
    K: Annotated[
        Read[int | Iterable[int] | str | None, tuple[int, ...] | None],
        Parameter(
            "Numbers of classes or points, 2 to 1e18: 1e6 or 10572,85742,360232.",
            wholes(2, _MOST_K),
            _QUESTION,
            short="-K",
        ),
    ] = Read(None)
    _: KW_ONLY
    margin: Annotated[
        float | None,
        Parameter(
            "Required one-vs-rest distance (CosFace's margin), above 0, up to 2. With --K the "
            "answer is d, with --d it is K; with both it is the share of the largest margin, and "
            "the scale that softmax needs.",
            real(greater_than=0.0, maximum=2.0),
            _QUESTION,
        ),
    ] = None
    arcface_m: Annotated[
        float | None,
        Parameter(
            "Minimal angle between two points in radians (ArcFace's margin), in place of --margin.",
            real(greater_than=0.0, maximum=pi),
            _QUESTION,
            metavar="RADIANS",
        ),
    ] = None
    max_cosine: Annotated[
        float | None,
        Parameter(
            "Largest cosine allowed between two points, in place of --margin; --d 8 "
            "--max-cosine 0.5 is the kissing problem. Also 1/3 or sqrt(5)/5.",
            Kind("FLOAT", _cosine, noun="a number"),
            _QUESTION,
        ),
    ] = None
    quantity: Annotated[
        Read[str | None, Quantity | None],
        Parameter(
            "one-vs-rest (margins); one-vs-one: cosine and angle of spherical codes; lines: "
            "coherence and angle of K lines through the origin. "
            "Default one-vs-rest; one-vs-one with --arcface-m or --max-cosine.",
            one_of(Quantity),
            _QUESTION,
        ),
    ] = Read(None)
    probability: Annotated[
        float | None,
        Parameter(
            "Print the scale s = 1/tau that is enough for probability P on every class. Default "
            "0.9 if d, K and a margin are given, else none.",
            real(greater_than=0.0, less_than=1.0),
            _QUESTION,
            metavar="P",
        ),
    ] = None
    lp: Annotated[
        bool,
        Parameter(
            "Add Delsarte's linear program, verified in exact arithmetic: about a second "
            "per pair, for d up to 1000, K up to 10^9 and polynomials of degree 40. For one pair "
            "with d up to 8 it is added by default, if the other bounds leave a gap.",
            group=_QUESTION,
        ),
    ] = False
    sdp: Annotated[
        bool,
        Parameter(
            "Compute Bachoc and Vallentin's three-point bound for pairs without a stored one, if "
            "the other bounds leave a gap, proved in whole numbers: about ten seconds per pair.",
            group=_QUESTION,
        ),
    ] = False
    table: PublicTable = None
    verify: Annotated[
        Path | None,
        Parameter(
            "Check a certificate, .json or .json.gz, or the folder of a code that compare has "
            "exported, in exact arithmetic, and say what it proves; "
            "exit 5 if its claim does not follow from the file, 4 if that is not decided.",
            group=_CERTIFICATES,
            metavar="FILE",
            reads=True,
        ),
    ] = None
    export: Annotated[
        Path | None,
        Parameter(
            "Write the certificate of the best bound from above that has one: .json or .gz.",
            group=_CERTIFICATES,
            metavar="FILE",
            writes=(".json", ".gz"),
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        Parameter(
            "Wall time for linear and semidefinite programs, --export and --verify; bounds that "
            "are not ready by then are left out. Default none; 5 minutes for --verify.",
            DURATION,
            "Effort and machine",
        ),
    ] = None
    best: Annotated[
        bool,
        Parameter(
            "In --csv, --jsonl and --out write one row per (d, K), d or K with the best "
            "bounds, not one per bound.",
            group="Output",
        ),
    ] = False
    out: Annotated[
        Path | None,
        Parameter(
            "Write the rows: .csv, .json, .h5 or .parquet.",
            group="Output",
            metavar="FILE",
            writes=(".csv", ".json", ".h5", ".parquet"),
        ),
    ] = None
    force: Force = False
    plot: Plot = None

    def __post_init__(self) -> None:
        if self.verify is not None:  # a check of a certificate takes no question
            for name in declared(type(self)):
                if name not in _VERIFY_OPTIONS and self.is_set(name):
                    raise excludes("verify", spelled(name))
            return
        names = filter(self.is_set, ("margin", "arcface_m", "max_cosine"))
        targets = {name: getattr(self, name) for name in names}
        if len(targets) > 1:
            names_of_targets = " and ".join(map(spelled, targets))
            raise UsageError(f"{names_of_targets} exclude each other; keep one of them")
        if (self.d is not None) + (self.K is not None) + len(targets) < 2:
            raise UsageError(
                f"give two of {spelled('d')}, {spelled('K')} and a margin, such as "
                f"{spelled('d', 10)} and {spelled('K', 100)}, or {spelled('d', 512)} and "
                f"{spelled('margin', 0.3)}"
            )
        d, K = self.d or (), self.K or ()
        ds, Ks = len(d), len(K)
        if ds * Ks > MOST_PAIRS:
            raise UsageError(
                f"{ds:,} dimensions and {Ks:,} sizes make more than {MOST_PAIRS:,} pairs; "
                "use larger steps"
            )
        if not ds * Ks and ds + Ks > _MOST_ANSWERS:
            raise UsageError(
                f"{ds + Ks:,} values are more than {_MOST_ANSWERS:,}; use a larger step"
            )
        is_angle = self.arcface_m is not None or self.max_cosine is not None
        if is_angle and self.quantity is Quantity.ONE_VS_REST:
            quantity = spelled("quantity", self.quantity)
            raise excludes(
                next(iter(targets)), quantity, f"drop {quantity}, or give {spelled('margin')}"
            )
        if self.margin is not None and self.quantity is Quantity.ONE_VS_ONE:
            raise excludes(
                "margin",
                spelled("quantity", self.quantity),
                f"give {spelled('max_cosine')} or {spelled('arcface_m')}",
            )
        if self.quantity is Quantity.LINES:
            for name in filter(self.is_set, _CODE_OPTIONS):
                raise excludes(name, spelled("quantity", self.quantity))
        requirements = [
            ("export", ds == Ks == 1, "one pair", "give one d and one K"),
            ("sdp", ds * Ks > 0, "pairs", f"give d and K, or drop {spelled('sdp')}"),
            (
                "time_limit",
                self.lp or self.sdp or self.export is not None or is_small(d, K),
                f"{spelled('lp')}, {spelled('sdp')}, {spelled('verify')} or one pair with d up to "
                f"{LP_DIMENSIONS}, as all else takes no time",
                f"drop {spelled('time_limit')}",
            ),
        ]
        for name, fulfilled, condition, advice in requirements:
            if self.is_set(name) and not fulfilled:
                raise requires(name, condition, advice)
