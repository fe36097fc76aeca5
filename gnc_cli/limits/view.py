"""The tables that `gnc bounds` shows: one pair, several, dimensions, numbers of points.

Values are rounded to the side on which they remain true.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from gnc_cli.brackets import Bracket
from gnc_cli.console.details import details
from gnc_cli.console.gates import GateVerdict, Status
from gnc_cli.console.table import Cell, Styled, Table, facts
from gnc_cli.figures import cosine, count, format_bracket, points, published, rounded
from gnc_cli.geometry.rounding import rounded_down, rounded_up
from gnc_cli.known_codes.citation import cite
from gnc_cli.limits.claim import enclosure
from gnc_cli.limits.limit import LARGEST_D, ROUNDING, Ending, Quantity
from gnc_cli.limits.lists import REASONS_NOT_PROVED
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
"""Name, value, remark and JSON key of one line."""
Row = BoundRow | DimensionRow | ClassesRow

_ENDS = ("lower", "upper", "lower_deg", "upper_deg", "lower_name", "upper_name")
_HEADLINE_KEYS = (*_ENDS, "quantity", "status")
"""Keys of the values in the headline."""
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
        "up to K = {low} {noun} a {code} exists",
        "gnc knows no K with a {code}",
        "from K = {high} on none exists",
        "gnc excludes no K",
    ),
}
"""Sentences for a known and an unknown end of existence, a known and an unknown one of exclusion.
"""


def view(result: BoundsResult, verbose: bool) -> list[Table]:
    """Return the tables of a result.

    Args:
        result: the result.
        verbose: add all bounds of each pair, K or d, and the keys of the JSON.
    """
    answer = result.answer
    if isinstance(answer, CertificateAnswer):
        return [
            table
            for one in _checked(result)
            for table in _certificate(one, verbose and one is answer)  # gates know its keys
        ]
    if not isinstance(answer, BoundsResult):
        return _answer(result, answer, verbose)
    return _pair(result, verbose) if len(result.best) == 1 else [_sweep(result, verbose)]


def verdicts(result: BoundsResult, options: dict[str, Any]) -> list[GateVerdict]:
    """Return the verdicts of --verify: failed without a proof, undecided beyond the limits.

    Args:
        result: the result.
        options: options as the user wrote them, by parameter; unused.
    """
    statuses = {"not_proved": Status.FAILED, "undecided": Status.UNDECIDED}
    return [
        GateVerdict(f"--verify {answer.file}", statuses[answer.status], answer.reason or "")
        for answer in _checked(result)
        if answer.status != "proved"
    ]


def _checked(result: BoundsResult) -> list[CertificateAnswer]:
    return [*filter(None, (result.certificate, result.local_optimum))]


def _certificate(answer: CertificateAnswer, verbose: bool) -> list[Table]:
    """Return the status of a certificate, and its claim as a sentence."""
    colour = {"proved": "bold green", "not_proved": "bold red", "undecided": "bold yellow"}
    detail = f": {answer.reason}" if answer.reason else " in fractions alone"
    status: Cell = (Styled(answer.status.replace("_", " "), colour[answer.status]), detail)
    headline = Table(f"Certificate   {answer.file}", sentences=[status])
    is_bound = answer.strict is not None
    subject = "every code" if is_bound else "a code"
    lines = [
        (
            subject if answer.status == "proved" else f"it claims that {subject}",
            f"d = {answer.d}, K {'>=' if is_bound else '='} {points(answer.K)}",
            answer.kind,
            "K",
        )
    ]
    low, high = enclosure(answer.cosine)
    greater, less = (">", "<") if answer.strict else (">=", "<=")
    if is_bound:
        value = f"{greater} {cosine(rounded_down(low), False)}"
        lines.append(("has a cosine", value, "of two points", "cosine"))
    else:
        value = f"<= {cosine(rounded_up(high), True)}"
        lines.append(("has cosines", value, "of two points", "cosine"))
    if answer.radius is not None:
        value, remark = f"within {answer.radius:.1e}", "from the points of the file, up to rotation"
        lines.append(("is a local optimum", value, remark, "radius"))
    if answer.lower is not None:
        lines.append(("so rho*", f">= {rounded(answer.lower, False)}", "", "lower"))
    if answer.upper is not None:
        lines.append(("so rho*", f"{less} {rounded(answer.upper, True)}", "", "upper"))
    return [headline, facts("", lines, verbose=verbose)]


# Pairs of d and K


def _pair(result: BoundsResult, verbose: bool) -> list[Table]:
    """Return the best interval with the bounds behind it; all bounds if verbose, best first."""
    (best,) = result.best
    is_cosine, noun = best.quantity.is_cosine, best.quantity.noun
    owner = "the best lines" if best.quantity is Quantity.LINES else "the best code"
    answers: list[Cell] = [Styled(f"{noun} of {owner}: {interval(best)}", "bold")]
    if best.status is not None:
        low, high = best.lower_name, best.upper_name
        remarks = {
            "exists": f" ({high if is_cosine else low})",
            "excluded": f" ({low if is_cosine else high})",
            "open": ", as gnc has no such code and no bound that excludes one",
        }
        status = Styled(STATUS[best.status], _COLOURS[best.status])
        answers.append((f"{result.target}: ", status, remarks[best.status]))
    headline = Table(f"Bounds   d = {count(best.d)}, K = {points(best.K)}", sentences=answers)
    rows = sorted(
        result.rows,
        key=lambda row: (row.side == "upper", not (row.valid and row.proven), rank(row)),
    )
    valid = [row for row in rows if row.valid and row.proven]
    code = next(row for row in valid if row.exists)
    if result.target is None or best.margins is None:
        has_room = best.scale is None and not is_cosine
        lines, notes = _facts(result), _hints(len(rows), code, has_room=has_room)
    else:
        lines = [*_classifier(result, verbose), *_not_proved(result)]
        notes = _matrix(valid, code.margin if best.status == "exists" else math.inf)
    table = facts("", lines + _exported(result), () if verbose else notes, verbose=verbose)
    if not verbose:
        return [headline, table]
    remainder = details(best, [table], *_HEADLINE_KEYS)
    return [headline, table, remainder, _all_bounds(rows, "", noun if is_cosine else "value")]


def _all_bounds(rows: Sequence[Row], fixed: str, heading: str) -> Table:
    """Return all bounds that guarantee or exclude something, with their full sources.

    Args:
        rows: rows, the best first.
        fixed: field that distinguishes the questions, `d` or `K`; empty for one question.
        heading: heading of the values.
    """
    cells = [
        (points(getattr(row, fixed)) if fixed else None, row.name, *words, _remark(row))
        for row in rows
        if (words := row_words(row)) is not None
    ]
    columns, text = (fixed, "bound", "codes", heading, "source"), frozenset({1, 2, 4})
    return Table("", columns, cells, text=text, remarks=4, strip=48)


def _remark(row: Row) -> Styled:
    """Return the source of a bound, its hypothesis, and the command that builds a code."""
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
    """Return the bounds behind the best interval, the best known code, and the scale.

    The table of `-v` has the full sources.
    """
    (best,) = result.best
    is_cosine = best.quantity.is_cosine
    sources = {(row.name, row.side): cite(row.source, row.d, row.K) for row in result.rows}
    lines = [
        ("from below", best.lower_name, sources[best.lower_name, "lower"], "lower"),
        ("from above", best.upper_name, sources[best.upper_name, "upper"], "upper"),
    ]
    if is_cosine:
        lines.append(("minimal angle", angle(best), "", "lower_deg"))
    if (code := best.best_known) is not None:
        value = published(code.figure, distance=not is_cosine)
        remarks = ["" if is_cosine else f"cosine {published(code.figure)}"]
        remarks += [cite(code.source, best.d, best.K), code.table or ""]
        remark = ", ".join(filter(None, remarks))
        lines.append(("best known code", value, remark, "best_known"))
    return [*lines, *_not_proved(result), *_scale(result, best.scale, "scale")]


def _exported(result: BoundsResult) -> list[Fact]:
    """Return the claim of the file of --export, and whether it is weaker than the best bound."""
    file, (best,) = result.exported, result.best
    if file is None or file.upper is None:
        return []
    best_upper = 1.0 - best.lower if best.quantity.is_cosine else best.upper
    remark = "; the best bound has no certificate" if file.upper > best_upper + ROUNDING else ""
    value = f"{'<' if file.strict else '<='} {rounded(file.upper, True)}"
    return [("written", file.file, f"proves rho* {value} ({file.kind}{remark})", "")]


def _short_source(row: Row) -> str:
    """Return the source of a bound in short, and why a numerical one is not proved."""
    reason = next((text for text in REASONS_NOT_PROVED.values() if f"({text})" in row.source), "")
    return ", ".join(filter(None, (cite(row.source), reason)))


def _not_proved(result: BoundsResult) -> Iterator[Fact]:
    """Yield claims and numerical bounds that would narrow the best interval."""
    (best,) = result.best
    for row in result.rows:
        if row.valid and not row.proven and best.lower < row.value < best.upper:
            value = f"{'at most' if row.side == 'upper' else 'at least'} {_value(row)}"
            yield "not proved", value, _short_source(row), ""


def _classifier(result: BoundsResult, verbose: bool) -> list[Fact]:
    """Return the interval of a pair as margins, angles and scales, and the dimensions it needs."""
    (best,) = result.best
    assert best.margins is not None, "lines have no margins"
    margins, rad, key = best.margins, best.margins.arcface_rad, "margins"
    names = [best.lower_name, best.upper_name]
    if result.quantity is Quantity.ONE_VS_ONE:  # the largest cosine has the smallest margin
        names.reverse()
    proofs = ", ".join(dict.fromkeys(names)) + ("" if verbose else "; sources: -v")
    degrees = format_bracket(Bracket(math.degrees(rad.lower), math.degrees(rad.upper)), 3)
    probability = f"for probability {short_decimal(result.probability or 0.0)}"
    adacos = f"{probability}; AdaCos: {margins.adacos_scale:.4g}"
    scale = "" if margins.scale is None else f"s = {format_bracket(margins.scale)}"
    sufficient = "" if best.scale is None else f"s = {_scaled(best.scale)}"
    lines = [
        (
            "uses",
            percent(margins.share),
            f"of what {count(best.d)} dimensions allow",
            f"{key}.share",
        ),
        ("largest CosFace m", format_bracket(margins.cosface), proofs, f"{key}.cosface"),
        (
            "largest ArcFace m",
            f"{format_bracket(rad)} rad",
            f"{degrees} degrees if theta + m <= pi",
            f"{key}.arcface_rad",
        ),
        ("smallest scale", scale, adacos, f"{key}.scale"),
        ("", sufficient, "for weights of just this margin", "scale"),
        ("least d", *_least_dimension(margins), f"{key}.sufficient"),
    ]
    return [line for line in lines if line[1]]


def _least_dimension(margins: LargestMargins) -> tuple[str, str]:
    """Return the smallest dimension of a target, or the interval that contains it, and a remark."""
    sufficient, necessary = ends(DimensionBest(0, margins.sufficient, margins.necessary))
    if margins.necessary is None:
        return "none", "no d allows this margin"
    if margins.sufficient is None:
        return f"{necessary} or more", "no d is known to be enough"
    if sufficient == necessary:
        return sufficient, "for this margin"
    return f"{necessary} to {sufficient}", f"{sufficient} is enough for this margin"


def _matrix(bounds: Sequence[BoundRow], threshold: float) -> list[Cell]:
    """Return the command that writes the matrix of the best code that gnc can build.

    Args:
        bounds: proved bounds whose hypotheses hold, the best first.
        threshold: smallest margin of a code that needs no remark.
    """
    built = next((row for row in bounds if row.exists and row.how), None)
    if built is None:
        return [
            Styled("gnc cannot build such a matrix; -v shows every bound and its source", "dim")
        ]
    worse = "" if built.margin >= threshold else f" (margin {rounded(built.margin, False, 4)})"
    command = f" {built.how} --out head.safetensors"
    return [(Styled(f"build it{worse}:", "bold"), command)]


def _hints(bounds: int, code: Any, *, has_room: bool) -> list[Cell]:
    """Return the command that builds the best code, if gnc has it, and the option for all bounds.

    Args:
        bounds: number of bounds.
        code: the row of the best code; None without one.
        has_room: show both lines.
    """
    verbose_hint = Styled(f"all {bounds} bounds with their sources: -v", "dim")
    if code is None or not (code.constructive or code.name == "known-code"):
        return [verbose_hint]
    command = code.how or "no construction or stored code of gnc is as good; see its source"
    build: Cell = (Styled("build it:", "bold"), f" {command}")
    return [build, verbose_hint] if has_room else [build]


def _value(row: BoundRow) -> str:
    is_upper = row.side == "upper"
    if row.angle_deg is None:
        return rounded(row.value, is_upper)
    return cosine(row.value, is_upper, degrees=row.angle_deg)


def _sweep(result: BoundsResult, verbose: bool) -> Table:
    """Return a line for each pair; with a target, shares and scales in place of names of bounds."""
    is_cosine = result.quantity.is_cosine
    brief = result.target is not None and not verbose
    digits = 12 if verbose else 5 if brief and not is_cosine else 8
    title = (
        f"Bounds   {result.quantity.noun} of the best "
        f"{'lines' if result.quantity is Quantity.LINES else 'code'}, {result.title}"
    )
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
            rounded(b.lower_deg, False, digits) if is_cosine else None,
            rounded(b.upper_deg, True, digits) if is_cosine else None,
            "yes" if b.exact else "",
            b.status and _YES_NO[b.status],
            percent(b.margins.share if b.margins else None),
            # Without a margin `scale` is its upper end.
            format_bracket(b.margins.scale)
            if b.margins and b.margins.share and b.margins.scale
            else None,
            None if brief else _scaled(b.scale),
        )
        for b in result.best
    ]
    notes: list[Cell] = []
    if result.probability is not None and result.target is not None:
        chance = f"probability {short_decimal(result.probability)}"
        note = f"smallest scale: needed by every code, and enough for the best known, for {chance}"
        notes.append(Styled(note, "dim"))
    if not brief and any(b.scale is not None for b in result.best):
        notes.append(Styled(f"scale: s = 1/tau that is enough {_promise(result)}", "dim"))
    return Table(title, heads, rows, notes=notes, text=frozenset({3, 5, 8, 9}))


def interval(best: BestBounds) -> str:
    """Return the best interval of one (d, K) in symbols, rounded outwards."""
    symbol = {"one-vs-one": "t", "lines": "mu"}.get(best.quantity, "rho*")
    low, high = end(best, "lower"), end(best, "upper")
    if not best.exact:
        return f"{low} <= {symbol} <= {high}"
    if " " not in low:
        low = f"{round(best.lower, 15) + 0.0 if best.quantity.is_cosine else best.lower:.12g}"
    return f"{symbol} = {low} (the bounds meet)"


def percent(share: Bracket | None) -> str:
    """Return a share of the largest possible margin; empty without a margin.

    >>> percent(Bracket(0.36502, 0.37059))
    '36.5 to 37.1 %'
    """
    if share is None:
        return ""
    return f"{format_bracket(Bracket(100.0 * share.lower, 100.0 * share.upper), 3)} %"


def angle(best: BestBounds) -> str:
    """Return the minimal angle of the best code, degrees, in words."""
    low, high = best.distances
    if best.exact:
        return f"{low:.10g} degrees"
    return f"{rounded(low, False, 10)} to {rounded(high, True, 10)} degrees"


def end(best: BestBounds, side: str, digits: int = 12) -> str:
    """Return the `lower` or `upper` end of a best interval, rounded outwards."""
    is_upper = side == "upper"
    value = best.upper if is_upper else best.lower
    if not best.quantity.is_cosine:
        return rounded(value, is_upper, digits)
    # The largest cosine belongs to the minimal angle.
    return cosine(value, is_upper, digits, best.lower_deg if is_upper else best.upper_deg)


# Dimensions and numbers of points


def _answer(
    result: BoundsResult, answer: DimensionAnswer | ClassesAnswer, verbose: bool
) -> list[Table]:
    """Return the interval of each K or d, then the best bounds; if verbose, all bounds."""
    noun = "lines" if result.quantity is Quantity.LINES else "points"
    if isinstance(answer, DimensionAnswer):
        fixed, heading = "K", "d"
        heads = "a code exists from d", "no code exists below d"
    else:
        fixed, heading = "d", "K"
        heads = "a code exists up to K", "no code exists from K"
    single = len(answer.best) == 1  # none after an early interruption
    best = [(points(getattr(b, fixed)), *ends(b)) for b in answer.best if not single]
    sentences = [
        Styled(best_text(b, result.requirement, noun), "bold") for b in answer.best if single
    ]
    headline = Table(result.title[0].upper() + result.title[1:], (fixed, *heads), best, sentences)
    rows: Sequence[DimensionRow | ClassesRow] = answer.rows
    rows = sorted(
        filter(row_words, rows), key=lambda row: (getattr(row, fixed), not row.exists, rank(row))
    )
    scale = _scale(result, answer.scale, "")
    if verbose:
        bounds = _all_bounds(rows, "" if single else fixed, heading)
        return [headline, facts("", scale, verbose=True), bounds]
    code, lines = _best_rows(rows) if single else (None, [])
    hints = _hints(len(rows), code, has_room=not scale)
    return [headline, facts("", [*lines, *scale], hints)]


def _best_rows(
    rows: Sequence[DimensionRow | ClassesRow],
) -> tuple[DimensionRow | ClassesRow | None, list[tuple[str, str, str]]]:
    """Return the best code, and lines for the best bound of each side and for unproved rows.

    Args:
        rows: rows of one K or d, the best first.
    """
    proved = {
        exists: next((row for row in rows if row.exists is exists and row.proven), None)
        for exists in (True, False)
    }
    selected = [row for row in proved.values() if row is not None]
    selected += [row for row in rows if not row.proven]
    lines = []
    for row in selected:
        relation, value = row_words(row) or ("", "")
        if not value.startswith("every"):
            value = f"{'d' if isinstance(row, DimensionRow) else 'K'} = {value}"
        relation = relation if row.proven else f"not proved: {relation}"
        lines.append((relation, value, f"{row.name}: {_short_source(row)}"))
    return proved[True], lines


def best_text(best: DimensionBest | ClassesBest, requirement: str, noun: str = "points") -> str:
    """Return the interval of a best row as a sentence.

    >>> best_text(DimensionBest(1000000, 8, 8), "margin 0.1")
    'a code of K = 1,000,000 points with margin 0.1 exists from d = 8 on; below d = 8 none exists'
    """
    exists, unknown, not_beyond, unlimited = _SENTENCES[type(best)]
    low, high = ends(best)
    if isinstance(best, ClassesBest):
        code = f"code with {requirement} in d = {count(best.d)}"
        closed = best.guaranteed is not None and best.excluded == best.guaranteed + 1
        excluded = best.log10_excluded is not None
    else:
        code = f"code of K = {points(best.K)} {noun} with {requirement}"
        if best.necessary is None or best.necessary > LARGEST_D:
            limit = "" if best.necessary is None else " up to 10^6"
            return f"no {code} exists in any dimension{limit}"
        closed = best.sufficient == best.necessary
        excluded = best.necessary > 2
    sides = unknown if low == _UNKNOWN else exists, not_beyond if excluded else unlimited
    has_gap = excluded and not closed and low != _UNKNOWN
    text = "; ".join(sides).format(low=low, high=high, noun=noun, code=code)
    return text + "; between them gnc does not decide" * has_gap


def ends(best: DimensionBest | ClassesBest) -> tuple[str, str]:
    """Return the ends of existence and of exclusion, in words."""
    if isinstance(best, DimensionBest):
        sufficient = _UNKNOWN if best.sufficient is None else count(best.sufficient)
        return sufficient, "every d" if best.necessary is None else count(best.necessary)
    guaranteed, excluded = (
        _UNKNOWN if log10 is None else points(K, log10, is_upper)
        for K, log10, is_upper in (
            (best.guaranteed, best.log10_guaranteed, False),
            (best.excluded, best.log10_excluded, True),
        )
    )
    return guaranteed, excluded


def row_words(row: Row) -> tuple[str, str] | None:
    """Return the relation and the value of a row; None if it guarantees or excludes nothing."""
    if isinstance(row, BoundRow):
        return row.side, _value(row)
    if isinstance(row, ClassesRow):
        if row.log10_K is None:
            return None
        value = points(row.K, row.log10_K, upward=not row.exists)
        return "exists up to" if row.exists else "excluded from", value
    if row.exists:
        return None if row.d is None else ("exists from", count(row.d))
    if row.d is None:
        return (
            "excluded in",
            "every d" if row.ending is Ending.UNREACHABLE else "every d up to 10^6",
        )
    return None if row.d == 2 else ("excluded below", count(row.d))


# What they share


def _scaled(scale: float | None) -> str | None:
    """Round a scale up to four digits, so that it remains sufficient."""
    return None if scale is None else rounded(scale, upward=True, digits=4)


def _promise(result: BoundsResult) -> str:
    condition = f"at {result.target}" if result.target else "for the best code known"
    return f"for probability {short_decimal(result.probability or 0.0)} {condition}"


def _scale(result: BoundsResult, scale: float | None, key: str) -> list[Fact]:
    """Return the line of the scale; none without a scale."""
    if scale is None:
        return []
    return [("softmax scale", f"s = 1/tau >= {_scaled(scale)}", _promise(result), key)]
