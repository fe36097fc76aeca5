"""The tables that `gnc bounds` shows: one pair, several, dimensions, numbers of points.

Figures are rounded to the side on which they stay true.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from gnc_cli.brackets import Bracket
from gnc_cli.console.details import details
from gnc_cli.console.gates import GateVerdict, Status
from gnc_cli.console.table import Cell, Styled, Table, facts
from gnc_cli.figures import between, cosine, count, points, published, rounded
from gnc_cli.geometry.rounding import rounded_down, rounded_up
from gnc_cli.known_codes.citation import cite
from gnc_cli.limits.claim import enclosure
from gnc_cli.limits.limit import LARGEST_D, ROUNDING, Ending, Quantity
from gnc_cli.limits.lists import STANDING
from gnc_cli.limits.result import (
    STATUS,
    BestBounds,
    BoundRow,
    BoundsResult,
    CertificateAnswer,
    ClassesAnswer,
    ClassesBest,
    ClassesRow,
    DimensionAnswer,
    DimensionBest,
    DimensionRow,
    LargestMargins,
    rank,
    short_decimal,
)

Fact = tuple[str, str, str, str]
"""Name, value, remark, key of the JSON."""
Row = BoundRow | DimensionRow | ClassesRow

_ENDS = ("lower", "upper", "lower_deg", "upper_deg", "lower_name", "upper_name")
_SHOWN = [f"best.0.{key}" for key in (*_ENDS, "quantity", "status")]
"""What the headline says."""
_COLOURS = {"exists": "bold green", "excluded": "bold red", "open": "bold yellow"}
_YES_NO = {"exists": "yes", "excluded": "no", "open": "open"}
_UNKNOWN = "none known"
_SENTENCES = {
    DimensionBest: (
        "a {code} exists from d = {low} on",
        "gnc knows no dimension with a {code}",
        "below d = {high} none exists",
        "no dimension is excluded",
    ),
    ClassesBest: (
        "up to K = {low} points a {code} exists",
        "gnc knows no K with a {code}",
        "from K = {high} on none exists",
        "gnc excludes no K",
    ),
}
"""Where codes exist, if any is known, and where none exists, if anything is excluded."""


def view(result: BoundsResult, verbose: bool) -> list[Table]:
    """The tables for a person.

    Args:
        verbose: every bound of every K or d asked, and the keys of the JSON.
    """
    answer = result.answer
    if isinstance(answer, CertificateAnswer):
        return _certificate(answer, verbose)
    if not isinstance(answer, BoundsResult):
        return _answer(result, answer, verbose)
    return _pair(result, verbose) if len(result.best) == 1 else [_sweep(result, verbose)]


def verdicts(result: BoundsResult, options: dict[str, Any]) -> list[GateVerdict]:
    """What --verify says: a claim without its proof fails, one beyond the limits stays undecided.

    Args:
        options: as the user wrote them, by parameter.
    """
    if result.certificate is None or result.certificate.status == "proved":
        return []
    status = Status.FAILED if result.certificate.status == "not_proved" else Status.UNDECIDED
    return [
        GateVerdict(f"--verify {result.certificate.file}", status, result.certificate.reason or "")
    ]


def _certificate(answer: CertificateAnswer, verbose: bool) -> list[Table]:
    """Whether the claim of a certificate is proved; the claim reads as a sentence."""
    colour = {"proved": "bold green", "not_proved": "bold red", "undecided": "bold yellow"}
    detail = f": {answer.reason}" if answer.reason else " in fractions alone"
    status: Cell = (Styled(answer.status.replace("_", " "), colour[answer.status]), detail)
    headline = Table(f"Certificate   {answer.file}", sentences=[status])
    is_bound = answer.strict is not None
    subject = "every code" if is_bound else "a code"
    lines = [
        (
            subject if answer.status == "proved" else f"it claims that {subject}",
            f"d = {answer.d}, K = {points(answer.K)}",
            answer.kind,
            "certificate.K",
        )
    ]
    low, high = enclosure(answer.cosine)
    more, less = (">", "<") if answer.strict else (">=", "<=")
    if is_bound:
        figure = f"{more} {cosine(rounded_down(low), False)}"
        lines.append(("has a cosine", figure, "of two points", "certificate.cosine"))
    else:
        figure = f"<= {cosine(rounded_up(high), True)}"
        lines.append(("has cosines", figure, "of two points", "certificate.cosine"))
    if answer.radius is not None:
        near = "from the points of the file, up to rotation"
        lines.append(
            ("is a local optimum", f"within {answer.radius:.1e}", near, "certificate.radius")
        )
    if answer.lower is not None:
        lines.append(("so rho*", f">= {rounded(answer.lower, False)}", "", "certificate.lower"))
    if answer.upper is not None:
        lines.append(("so rho*", f"{less} {rounded(answer.upper, True)}", "", "certificate.upper"))
    return [headline, facts("", lines, verbose=verbose)]


# Pairs of d and K


def _pair(result: BoundsResult, verbose: bool) -> list[Table]:
    """The best interval; in short what is behind it, else every bound, the best first."""
    (best,) = result.best
    one, what = best.quantity.is_cosine, best.quantity.noun
    of = "the best lines" if best.quantity is Quantity.LINES else "the best code"
    answers: list[Cell] = [Styled(f"{what} of {of}: {interval(best)}", "bold")]
    if best.status is not None:
        ends = (best.upper_name, best.lower_name) if one else (best.lower_name, best.upper_name)
        remarks = {
            "exists": f" ({ends[0]})",
            "excluded": f" ({ends[1]})",
            "open": ", for gnc has no such code and no bound that excludes one",
        }
        status = Styled(STATUS[best.status], _COLOURS[best.status])
        answers.append((f"{result.target}: ", status, remarks[best.status]))
    headline = Table(f"Bounds   d = {count(best.d)}, K = {points(best.K)}", sentences=answers)
    rows = sorted(
        enumerate(result.rows),
        key=lambda r: (r[1].side == "upper", not (r[1].valid and r[1].proven), rank(r[1])),
    )
    held = [row for _, row in rows if row.valid and row.proven]
    code = next(row for row in held if row.exists)
    if result.target is None or best.margins is None:
        lines, notes = _facts(result), _more(len(rows), code, best.scale is None and not one)
    else:
        lines, notes = _classifier(result, verbose), _matrix(held, code)
        lines += _not_proved(result)
    sheet = facts("", lines + _written(result), () if verbose else notes, verbose=verbose)
    if not verbose:
        return [headline, sheet]
    further = details(best, [sheet], *_SHOWN, prefix="best.0.")
    listed = [(f"rows.{place}", row) for place, row in rows]
    return [headline, sheet, further, _every(listed, "", what if one else "value")]


def _every(rows: Sequence[tuple[str, Row]], fixed: str, sought: str) -> Table:
    """Every bound that says something, with its whole source.

    Args:
        rows: the best first, each with its key.
        fixed: the key of what tells questions apart; empty for one question.
        sought: heading of the figures.
    """
    cells = [
        (points(getattr(row, fixed)) if fixed else None, row.name, *words, _remark(row), key)
        for key, row in rows
        if (words := row_words(row)) is not None
    ]
    columns, text = (fixed, "bound", "codes", sought, "source", "key"), frozenset({1, 2, 4, 5})
    return Table("", columns, cells, text=text, keys=5, remarks=4, strip=48)


def _remark(row: Row) -> Styled:
    """The source of a bound, its hypothesis, and the command that builds a code."""
    parts = []
    if isinstance(row, BoundRow):
        if row.angle_deg is not None:
            parts.append(f"{rounded(row.angle_deg, row.side == 'lower', 10)} degrees")
        if row.condition:
            parts.append(f"{'holds' if row.valid else 'does not hold'}: {row.condition}")
    parts.append(row.source if row.proven else f"not proved: {row.source}")
    parts += ["by the bisector theorem"] if row.bisector else []
    parts += [f"build it: {row.how}"] if row.how else []
    return Styled("; ".join(parts), "dim")


def _facts(result: BoundsResult) -> list[Fact]:
    """The bounds behind the best interval, the best known code, the scale.

    The table of `-v` has the whole sources.
    """
    (best,) = result.best
    one = best.quantity.is_cosine
    sources = {(row.name, row.side): cite(row.source, row.d, row.K) for row in result.rows}
    below, above = sources[best.lower_name, "lower"], sources[best.upper_name, "upper"]
    lines = [
        ("from below", best.lower_name, below, "best.0.lower"),
        ("from above", best.upper_name, above, "best.0.upper"),
    ]
    if one:
        lines.append(("minimal angle", angle(best), "", "best.0.lower_deg"))
    if (known := best.best_known) is not None:
        figure = published(known.figure, distance=not one)
        remarks = ["" if one else f"cosine {published(known.figure)}"]
        remarks += [cite(known.source, best.d, best.K), known.table or ""]
        remark = ", ".join(filter(None, remarks))
        lines.append(("best known code", figure, remark, "best.0.best_known"))
    return [*lines, *_not_proved(result), *_scale(result, best.scale, "best.0.scale")]


def _written(result: BoundsResult) -> list[Fact]:
    """What the file of --export proves, and whether that is less than what is known."""
    file, (best,) = result.exported, result.best
    if file is None or file.upper is None:
        return []
    known = 1.0 - best.lower if best.quantity.is_cosine else best.upper
    less = "; the best bound has no certificate" if file.upper > known + ROUNDING else ""
    figure = f"{'<' if file.strict else '<='} {rounded(file.upper, True)}"
    return [("written", file.file, f"proves rho* {figure} ({file.kind}{less})", "exported")]


def _cited(row: Row) -> str:
    """The source of a bound in short, and why a numerical one is not proved."""
    reason = next((text for text in STANDING.values() if f"({text})" in row.source), "")
    return ", ".join(filter(None, (cite(row.source), reason)))


def _not_proved(result: BoundsResult) -> Iterator[Fact]:
    """What is claimed or numerical, and would narrow the best interval."""
    (best,) = result.best
    for row in result.rows:
        if row.valid and not row.proven and best.lower < row.value < best.upper:
            figure = f"{'at most' if row.side == 'upper' else 'at least'} {_figure(row)}"
            yield "not proved", figure, _cited(row), ""


def _classifier(result: BoundsResult, verbose: bool) -> list[Fact]:
    """The interval of one pair as margins, angles and scales, and the dimensions of the target."""
    (best,) = result.best
    assert best.margins is not None, "lines have no margins"
    margins, rad, key = best.margins, best.margins.arcface_rad, "best.0.margins"
    names = [best.lower_name, best.upper_name]
    if result.quantity is Quantity.ONE_VS_ONE:  # the largest cosine has the smallest margin
        names.reverse()
    proofs = ", ".join(dict.fromkeys(names)) + ("" if verbose else "; sources: -v")
    degrees = between(Bracket(math.degrees(rad.lower), math.degrees(rad.upper)), 3)
    probability = f"for probability {short_decimal(result.probability or 0.0)}"
    adacos = f"{probability}; AdaCos: {margins.adacos_scale:.4g}"
    scale = "" if margins.scale is None else f"s = {between(margins.scale)}"
    enough = "" if best.scale is None else f"s = {_scaled(best.scale)}"
    lines = [
        (
            "uses",
            percent(margins.share),
            f"of what {count(best.d)} dimensions allow",
            f"{key}.share",
        ),
        ("largest CosFace m", between(margins.cosface), proofs, f"{key}.cosface"),
        (
            "largest ArcFace m",
            f"{between(rad)} rad",
            f"{degrees} degrees if theta + m <= pi",
            f"{key}.arcface_rad",
        ),
        ("smallest scale", scale, adacos, f"{key}.scale"),
        ("", enough, "is enough at the margin asked for", "best.0.scale"),
        ("least d", *_least(margins), f"{key}.sufficient"),
    ]
    return [line for line in lines if line[1]]


def _least(margins: LargestMargins) -> tuple[str, str]:
    """The smallest dimension of a target, as far as it is known."""
    enough, needed = ends(DimensionBest(0, margins.sufficient, margins.necessary))
    if margins.necessary is None:
        return "none", "no d allows this margin"
    if margins.sufficient is None:
        return f"{needed} or more", "no d is known to be enough"
    if enough == needed:
        return enough, "for this margin"
    return f"{needed} to {enough}", f"{enough} is enough for this margin"


def _matrix(held: Sequence[BoundRow], code: BoundRow) -> list[Cell]:
    """The command that writes the matrix of the best code that gnc can build.

    Args:
        held: bounds that hold, the best first.
        code: the best code that exists.
    """
    built = next((row for row in held if row.exists and row.how), None)
    if built is None:
        return [
            Styled("gnc cannot build such a matrix; -v shows every bound and its source", "dim")
        ]
    worse = "" if built.margin >= code.margin else f" (margin {rounded(built.margin, False, 4)})"
    command = f" {built.how} --out head.safetensors"
    return [(Styled(f"build it{worse}:", "bold"), command)]


def _more(bounds: int, code: Any, room: bool) -> list[Cell]:
    """The command that builds the code that is best, where gnc has it; how to see every bound.

    Args:
        code: the row that says that it exists; None where there is none.
        room: whether there is a line for both.
    """
    more = Styled(f"all {bounds} bounds with their sources: -v", "dim")
    if code is None or not (code.constructive or code.name == "known-code"):
        return [more]
    command = code.how or "no construction or stored code of gnc is as good; see its source"
    build: Cell = (Styled("build it:", "bold"), f" {command}")
    return [build, more] if room else [build]


def _figure(row: BoundRow) -> str:
    up = row.side == "upper"
    if row.angle_deg is None:
        return rounded(row.value, up)
    return cosine(row.value, up, degrees=row.angle_deg)


def _sweep(result: BoundsResult, verbose: bool) -> Table:
    """A line for each pair; in short, with a margin, shares and scales in place of sources."""
    one = result.quantity.is_cosine
    brief = result.target is not None and not verbose
    digits = 12 if verbose else 5 if brief and not one else 8
    title = f"Bounds   {result.quantity.noun} of the best code, {result.title}"
    heads = (
        "d",
        "K",
        "lower",
        "by",
        "upper",
        "by",
        "lower degrees",
        "upper degrees",
        "exact",
        "exists?",
        "uses",
        "smallest scale",
        "scale",
    )
    rows: list[tuple[Cell, ...]] = [
        (
            count(b.d),
            points(b.K),
            end(b, "lower", digits),
            None if brief else b.lower_name,
            end(b, "upper", digits),
            None if brief else b.upper_name,
            rounded(b.lower_deg, False, digits) if one else None,
            rounded(b.upper_deg, True, digits) if one else None,
            "yes" if b.exact else "",
            b.status and _YES_NO[b.status],
            percent(b.margins.share if b.margins else None),
            # Without a margin `scale` is its upper end.
            between(b.margins.scale) if b.margins and b.margins.share and b.margins.scale else None,
            None if brief else _scaled(b.scale),
        )
        for b in result.best
    ]
    notes: list[Cell] = []
    if result.probability is not None and result.target is not None:
        chance = f"probability {short_decimal(result.probability)}"
        least = f"smallest scale: of every code and of the best one known, for {chance}"
        notes.append(Styled(least, "dim"))
    if not brief and any(b.scale is not None for b in result.best):
        notes.append(Styled(f"scale: s = 1/tau that is enough {_promise(result)}", "dim"))
    return Table(title, heads, rows, notes=notes, text=frozenset({3, 5, 8, 9}))


def interval(best: BestBounds) -> str:
    """The best interval of one (d, K)."""
    symbol = {"one-vs-one": "t", "lines": "mu"}.get(best.quantity, "rho*")
    low, high = end(best, "lower"), end(best, "upper")
    if not best.exact:
        return f"{low} <= {symbol} <= {high}"
    if " " not in low:
        low = f"{round(best.lower, 15) + 0.0 if best.quantity.is_cosine else best.lower:.12g}"
    return f"{symbol} = {low} (the bounds meet)"


def percent(share: Bracket | None) -> str:
    """A share of the largest possible margin; empty where no margin was asked for.

    >>> percent(Bracket(0.36502, 0.37059))
    '36.5 to 37.1 %'
    """
    if share is None:
        return ""
    return f"{between(Bracket(100.0 * share.lower, 100.0 * share.upper), 3)} %"


def angle(best: BestBounds) -> str:
    """The minimal angle of the best code."""
    low, high = best.distances
    if best.exact:
        return f"{low:.10g} degrees"
    return f"{rounded(low, False, 10)} to {rounded(high, True, 10)} degrees"


def end(best: BestBounds, side: str, digits: int = 12) -> str:
    """The `lower` or `upper` end of a best interval, rounded outwards."""
    up = side == "upper"
    value = best.upper if up else best.lower
    if not best.quantity.is_cosine:
        return rounded(value, up, digits)
    # The largest cosine belongs to the minimal angle.
    return cosine(value, up, digits, best.lower_deg if up else best.upper_deg)


# Dimensions and numbers of points


def _answer(
    result: BoundsResult, answer: DimensionAnswer | ClassesAnswer, verbose: bool
) -> list[Table]:
    """The best of each K or d, then every bound that says something, in short the best of them."""
    if isinstance(answer, DimensionAnswer):
        key, fixed, sought, title = "dimension", "K", "d", "Dimensions for"
        heads = "a code exists from d", "no code exists below d"
    else:
        key, fixed, sought, title = "classes", "d", "K", "Numbers of points with"
        heads = "a code exists up to K", "no code exists from K"
    title = f"{title} {result.requirement}"
    many = len(answer.best) != 1  # an interruption may leave none
    best = [(points(getattr(b, fixed)), *ends(b)) for b in answer.best if many]
    sentences = [Styled(best_text(b, result.requirement), "bold") for b in answer.best if not many]
    headline = Table(title, (fixed, *heads), best, sentences)
    rows: Sequence[DimensionRow | ClassesRow] = answer.rows
    listed = [(f"{key}.rows.{place}", row) for place, row in enumerate(rows) if row_words(row)]
    listed.sort(key=lambda r: (getattr(r[1], fixed), not r[1].exists, rank(r[1])))
    scale = _scale(result, answer.scale, f"{key}.scale")
    if verbose:
        every = _every(listed, fixed if many else "", sought)
        return [headline, facts("", scale, verbose=True), every]
    code, lines = (None, []) if many else _best_rows([row for _, row in listed])
    return [headline, facts("", [*lines, *scale], _more(len(listed), code, not scale))]


def _best_rows(
    rows: Sequence[DimensionRow | ClassesRow],
) -> tuple[DimensionRow | ClassesRow | None, list[tuple[str, str, str]]]:
    """The code that is best, and a line for the best bound of each side, then for what is not
    proved and says more.

    Args:
        rows: of one K or d, the best first.
    """
    proved = {
        exists: next((row for row in rows if row.exists is exists and row.proven), None)
        for exists in (True, False)
    }
    shown = [row for row in proved.values() if row is not None]
    shown += [row for row in rows if not row.proven]
    lines = []
    for row in shown:
        what, figure = row_words(row) or ("", "")
        if not figure.startswith("every"):
            figure = f"{'d' if isinstance(row, DimensionRow) else 'K'} = {figure}"
        what = what if row.proven else f"not proved: {what}"
        lines.append((what, figure, f"{row.name}: {_cited(row)}"))
    return proved[True], lines


def best_text(best: DimensionBest | ClassesBest, requirement: str) -> str:
    """Where codes have what is asked for and where none has, in a sentence.

    >>> best_text(DimensionBest(1000000, 8, 8), "margin 0.1")
    'a code of K = 1,000,000 points with margin 0.1 exists from d = 8 on; below d = 8 none exists'
    """
    exists, unknown, none, free = _SENTENCES[type(best)]
    low, high = ends(best)
    if isinstance(best, ClassesBest):
        code = f"code with {requirement} in d = {count(best.d)}"
        closed = best.guaranteed is not None and best.excluded == best.guaranteed + 1
        excluded = best.log10_excluded is not None
    else:
        code = f"code of K = {points(best.K)} points with {requirement}"
        if best.necessary is None or best.necessary > LARGEST_D:
            most = "" if best.necessary is None else " up to 10^6"
            return f"no {code} exists in any dimension{most}"
        closed = best.sufficient == best.necessary
        excluded = best.necessary > 2
    sentence = unknown if low == _UNKNOWN else exists
    rest = none if excluded else free
    open_ = excluded and not closed and low != _UNKNOWN
    between = "; between them gnc does not decide" if open_ else ""
    return f"{sentence.format(low=low, code=code)}; {rest.format(high=high)}{between}"


def ends(best: DimensionBest | ClassesBest) -> tuple[str, str]:
    """Where codes are known to exist, and where none do."""
    if isinstance(best, DimensionBest):
        enough = _UNKNOWN if best.sufficient is None else count(best.sufficient)
        return enough, "every d" if best.necessary is None else count(best.necessary)
    most, least = (
        _UNKNOWN if log10 is None else points(K, log10, up)
        for K, log10, up in (
            (best.guaranteed, best.log10_guaranteed, False),
            (best.excluded, best.log10_excluded, True),
        )
    )
    return most, least


def row_words(row: Row) -> tuple[str, str] | None:
    """What a row says, and its figure; None where it guarantees or excludes nothing."""
    if isinstance(row, BoundRow):
        return row.side, _figure(row)
    if isinstance(row, ClassesRow):
        if row.log10_K is None:
            return None
        figure = points(row.K, row.log10_K, up=not row.exists)
        return "exists up to" if row.exists else "excluded from", figure
    if row.exists:
        return None if row.d is None else ("exists from", count(row.d))
    if row.d is None:
        return "excluded in", "every d" if row.ending is Ending.NEVER else "every d up to 10^6"
    return None if row.d == 2 else ("excluded below", count(row.d))


# What they share


def _scaled(scale: float | None) -> str | None:
    """To four digits, up, so that it is enough."""
    return None if scale is None else rounded(scale, up=True, digits=4)


def _promise(result: BoundsResult) -> str:
    where = f"at {result.target}" if result.target else "for the best code known"
    return f"for probability {short_decimal(result.probability or 0.0)} {where}"


def _scale(result: BoundsResult, scale: float | None, key: str) -> list[Fact]:
    """A line for a table of facts."""
    if scale is None:
        return []
    return [("softmax scale", f"s = 1/tau >= {_scaled(scale)}", _promise(result), key)]
