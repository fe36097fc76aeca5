"""The tables that `gnc bounds` shows: one pair, several, dimensions, numbers of points.

Figures are rounded to the side on which they stay true.
"""

import math
from collections.abc import Sequence
from typing import Any

from gnc_cli.console.gates import GateVerdict, Status
from gnc_cli.console.table import Cell, Styled, Table, facts
from gnc_cli.figures import cosine, count, points, published, rounded
from gnc_cli.geometry.rounding import rounded_down, rounded_up
from gnc_cli.known_codes.citation import cited
from gnc_cli.limits.claim import enclosure
from gnc_cli.limits.limit import LARGEST_D, ROUNDING, Ending, Quantity
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
    short_decimal,
)
from gnc_cli.records import Bracket

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
        "no K is excluded",
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
    one = best.quantity is Quantity.ONE_VS_ONE
    what = "largest cosine" if one else "one-vs-rest distance"
    answers: list[Cell] = [Styled(f"{what} of the best code: {interval(best)}", "bold")]
    if best.status is not None:
        ends = (best.upper_name, best.lower_name) if one else (best.lower_name, best.upper_name)
        remarks = {
            "exists": f" ({ends[0]})",
            "excluded": f" ({ends[1]})",
            "open": ", for gnc has no such code and no bound that excludes one",
        }
        status = Styled(STATUS[best.status], _COLOURS[best.status])
        key = Styled("   best.0.status", "cyan") if verbose else ""
        answers.append((f"{result.target}: ", status, remarks[best.status], key))
    headline = Table(f"Bounds   d = {count(best.d)}, K = {points(best.K)}", sentences=answers)
    rows = sorted(
        enumerate(result.rows),
        key=lambda r: (r[1].side == "upper", not (r[1].valid and r[1].proven), rank(r[1])),
    )
    held = [row for _, row in rows if row.valid and row.proven]
    code = next(row for row in held if row.exists)
    if not verbose and result.target is not None:
        lines = _classifier(result, verbose) + _not_proved(result) + _written(result)
        return [headline, facts("", lines, _matrix(held, code))]
    facts_of_pair = _facts(result)
    if not verbose:
        room = best.scale is None and not one
        return [headline, facts("", facts_of_pair, _more(len(rows), code, room))]
    facts_of_pair = _classifier(result, verbose) + facts_of_pair
    cells = [_cells(row, f"rows.{place}") for place, row in rows]
    heads = ("side", "bound", "largest cosine" if one else "value", "degrees", "source", "key")
    notes = _notes([row for _, row in rows], held)
    listed = Table("", heads, cells, notes=notes, text=frozenset({1, 4, 5}), keys=5, remarks=4)
    return [headline, facts("", facts_of_pair, verbose=True), listed]


def _facts(result: BoundsResult) -> list[tuple[Any, ...]]:
    """The bounds behind the best interval, the best known code, what is not proved, the scale.

    The table of `-v` has the whole sources.
    """
    (best,) = result.best
    one = best.quantity is Quantity.ONE_VS_ONE
    sources = {(row.name, row.side): cited(row.source, row.d, row.K) for row in result.rows}
    below, above = sources[best.lower_name, "lower"], sources[best.upper_name, "upper"]
    lines: list[tuple[Any, ...]] = [
        ("from below", best.lower_name, below, "best.0.lower"),
        ("from above", best.upper_name, above, "best.0.upper"),
    ]
    if one:
        lines.append(("minimal angle", angle(best), "", "best.0.lower_deg"))
    if (known := best.best_known) is not None:
        figure = published(known.figure, distance=not one)
        remarks = ["" if one else f"cosine {published(known.figure)}"]
        remarks += [cited(known.source, best.d, best.K), known.table or ""]
        lines.append(
            ("best known code", figure, ", ".join(filter(None, remarks)), "best.0.best_known")
        )
    # With a margin `_classifier` has it.
    scale = best.scale if result.target is None else None
    return [
        *lines,
        *_not_proved(result),
        *_scale(result, scale, "best.0.scale"),
        *_written(result),
    ]


def _written(result: BoundsResult) -> list[tuple[Any, ...]]:
    """What the file of --export proves, and whether that is less than what is known."""
    file, (best,) = result.exported, result.best
    if file is None or file.upper is None:
        return []
    known = 1.0 - best.lower if best.quantity is Quantity.ONE_VS_ONE else best.upper
    less = "; the best bound has no certificate" if file.upper > known + ROUNDING else ""
    figure = f"{'<' if file.strict else '<='} {rounded(file.upper, True)}"
    return [("written", file.file, f"proves rho* {figure} ({file.kind}{less})", "exported")]


def _not_proved(result: BoundsResult) -> list[tuple[Any, ...]]:
    """What is claimed or numerical, and would narrow the best interval."""
    (best,) = result.best
    lines = []
    for row in result.rows:
        if row.valid and not row.proven and best.lower < row.value < best.upper:
            figure = f"{'at most' if row.side == 'upper' else 'at least'} {_figure(row)}"
            lines.append(("not proved", figure, cited(row.source), ""))
    return lines


def _classifier(result: BoundsResult, verbose: bool) -> list[tuple[Any, ...]]:
    """The interval of one pair as margins, angles and scales, and the dimensions of the target."""
    (best,) = result.best
    margins = best.margins
    key = "best.0.margins"
    names = [best.lower_name, best.upper_name]
    if result.quantity is Quantity.ONE_VS_ONE:  # the largest cosine has the smallest margin
        names.reverse()
    proofs = ", ".join(dict.fromkeys(names))
    proofs += "" if verbose else "; sources: -v"
    lines: list[tuple[Any, ...]] = []
    if margins.share is not None:
        allowed = f"of what {count(best.d)} dimensions allow"
        lines.append(("uses", percent(margins.share), allowed, f"{key}.share"))
    degrees = Bracket(
        *(math.degrees(x) for x in (margins.arcface_rad.lower, margins.arcface_rad.upper))
    )
    lines += [
        ("largest CosFace m", between(margins.cosface), proofs, f"{key}.cosface"),
        (
            "largest ArcFace m",
            f"{between(margins.arcface_rad)} rad",
            f"{between(degrees, 3)} degrees if theta + m <= pi",
            f"{key}.arcface_rad",
        ),
    ]
    adacos = f"{margins.adacos_scale:.4g}"
    if margins.scale is None:
        lines.append(("AdaCos' scale", f"s = {adacos}", "", f"{key}.adacos_scale"))
    else:
        remark = f"for probability {short_decimal(result.probability or 0.0)}; AdaCos: {adacos}"
        lines.append(("smallest scale", f"s = {between(margins.scale)}", remark, f"{key}.scale"))
    if best.scale is not None and result.target is not None:
        enough = "is enough at the margin asked for"
        lines.append(("", f"s = {_scaled(best.scale)}", enough, "best.0.scale"))
    if result.target is not None:
        least = DimensionBest(best.K, margins.sufficient, margins.necessary)
        lines.append(("least d", *_least(least), f"{key}.sufficient"))
    return lines


def _least(best: DimensionBest) -> tuple[str, str]:
    """The smallest dimension of a target, as far as it is known."""
    enough, needed = ends(best)
    if best.necessary is None:
        return "none", "no d allows this margin"
    if best.sufficient is None:
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


def _cells(row: BoundRow, key: str | None) -> tuple[Cell, ...]:
    """One bound; dim where its hypothesis fails."""
    up = row.side == "upper"
    figure = _figure(row)
    degrees = None if row.angle_deg is None else rounded(row.angle_deg, not up, 10)
    if not (row.valid and row.proven):
        why = f"not proved: {row.source}" if row.valid else f"does not hold: {row.condition}"
        cells = (row.side, row.name, figure, degrees, why, key)
        return tuple(cell and Styled(cell, "dim") for cell in cells)
    condition = f"holds: {row.condition}; " if row.condition else ""
    return row.side, row.name, figure, degrees, Styled(condition + row.source, "dim"), key


def _figure(row: BoundRow) -> str:
    up = row.side == "upper"
    if row.angle_deg is None:
        return rounded(row.value, up)
    return cosine(row.value, up, degrees=row.angle_deg)


def _sweep(result: BoundsResult, verbose: bool) -> Table:
    """A line for each pair; in short, with a margin, shares and scales in place of sources."""
    one = result.quantity is Quantity.ONE_VS_ONE
    brief = result.target is not None and not verbose
    digits = 12 if verbose else 5 if brief and not one else 8
    what = "largest cosine" if one else "one-vs-rest distance"
    title = f"Bounds   {what} of the best code, {result.title}"
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
        "key",
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
            None if b.margins.share is None else percent(b.margins.share),
            # Without a margin `scale` is its upper end.
            between(b.margins.scale) if b.margins.share and b.margins.scale else None,
            None if brief else _scaled(b.scale),
            f"best.{place}" if verbose else None,
        )
        for place, b in enumerate(result.best)
    ]
    notes: list[Cell] = []
    if result.probability is not None and result.target is not None:
        chance = f"probability {short_decimal(result.probability)}"
        least = f"smallest scale: of every code and of the best one known, for {chance}"
        notes.append(Styled(least, "dim"))
    if not brief and any(b.scale is not None for b in result.best):
        notes.append(Styled(f"scale: s = 1/tau that is enough {_promise(result)}", "dim"))
    text = frozenset({3, 5, 8, 9, 13})
    return Table(title, heads, rows, notes=notes, text=text, keys=13)


def interval(best: BestBounds) -> str:
    """The best interval of one (d, K)."""
    symbol = "t" if best.quantity is Quantity.ONE_VS_ONE else "rho*"
    low, high = end(best, "lower"), end(best, "upper")
    if not best.exact:
        return f"{low} <= {symbol} <= {high}"
    if " " not in low:
        low = f"{round(best.lower, 15) + 0.0 if symbol == 't' else best.lower:.12g}"
    return f"{symbol} = {low} (the bounds meet)"


def between(bracket: Bracket, digits: int = 4) -> str:
    """A bracket rounded outwards, one figure where both ends read the same.

    >>> between(Bracket(0.9444444, 0.9588345)), between(Bracket(0.5, 0.5))
    ('0.9444 to 0.9589', '0.5')
    """
    if bracket.width <= ROUNDING * bracket.upper:
        return f"{float(bracket):.{digits}g}"
    return f"{rounded(bracket.lower, False, digits)} to {rounded(bracket.upper, True, digits)}"


def percent(share: Bracket) -> str:
    """A share of the largest possible margin.

    >>> percent(Bracket(0.36502, 0.37059))
    '36.5 to 37.1 %'
    """
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
    if best.quantity is not Quantity.ONE_VS_ONE:
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
    listed = [(place, row, words) for place, row in enumerate(rows) if (words := row_words(row))]
    listed.sort(key=lambda r: (getattr(r[1], fixed), not r[1].exists, rank(r[1])))
    scale = _scale(result, answer.scale, f"{key}.scale")
    some = [row for _, row, _ in listed]
    if not verbose:
        code, lines = (None, []) if many else _best_rows(some)
        more = _more(len(listed), code, not scale)
        return [headline, facts("", [*lines, *scale], more)]
    cells = [
        (
            points(getattr(row, fixed)) if many else None,
            row.name,
            *words,
            Styled(row.source, "dim"),
            f"{key}.rows.{place}",
        )
        for place, row, words in listed
    ]
    notes = _notes(some, some)
    columns = (fixed, "bound", "codes", sought, "source", "key")
    text = frozenset({1, 2, 4, 5})
    every = Table("", columns, cells, notes=notes, text=text, keys=5, remarks=4)
    return [headline, *([facts("", scale, verbose=True)] if scale else []), every]


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
    for row in rows:
        best = proved[row.exists]
        if not row.proven and (best is None or rank(row) < rank(best)):
            shown.append(row)
    lines = []
    for row in shown:
        what, figure = row_words(row) or ("", "")
        if not figure.startswith("every"):
            figure = f"{'d' if isinstance(row, DimensionRow) else 'K'} = {figure}"
        what = what if row.proven else f"not proved: {what}"
        lines.append((what, figure, f"{row.name}: {cited(row.source)}"))
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


def row_words(row: DimensionRow | ClassesRow) -> tuple[str, str] | None:
    """What a row says, and its figure; None where it guarantees or excludes nothing."""
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


def rank(row: BoundRow | DimensionRow | ClassesRow) -> float:
    """Of all that exist, or of all that are excluded, the best is the smallest."""
    if isinstance(row, BoundRow):
        return -row.distance if row.exists else row.distance
    if isinstance(row, ClassesRow):
        log10 = row.log10_K or 0.0
        return -log10 if row.exists else log10
    d = math.inf if row.d is None else row.d
    return d if row.exists else -d


def _scaled(scale: float | None) -> str | None:
    """To four digits, up, so that it is enough."""
    return None if scale is None else rounded(scale, up=True, digits=4)


def _promise(result: BoundsResult) -> str:
    where = f"at {result.target}" if result.target else "for the best code known"
    return f"for probability {short_decimal(result.probability or 0.0)} {where}"


def _scale(result: BoundsResult, scale: float | None, key: str) -> list[tuple[str, ...]]:
    """A line for a table of facts."""
    if scale is None:
        return []
    return [("softmax scale", f"s = 1/tau >= {_scaled(scale)}", _promise(result), key)]


def _notes(rows: Sequence[Any], held: Sequence[Any]) -> list[Cell]:
    """What the bisector theorem says, where it is used, and the commands that build codes.

    Args:
        held: rows that hold.
    """
    notes: list[Cell] = []
    if turned := dict.fromkeys(row.name for row in rows if row.bisector):
        theorem = "rho* = 1 - t*, t* the smallest possible largest cosine"
        notes.append(Styled(f"by the bisector theorem, {theorem}: {', '.join(turned)}", "dim"))
    commands: dict[str, dict[str, None]] = {}
    for row in held:
        if row.how:
            commands.setdefault(row.how, {})[row.name] = None
    for command, names in commands.items():
        notes.append((Styled(f"build it ({', '.join(names)}):", "bold"), f" {command}"))
    return notes
