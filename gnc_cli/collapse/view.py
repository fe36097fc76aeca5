"""The tables that `gnc measure` shows: a report of one set, or one line per set."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gnc_cli.brackets import Bracket
from gnc_cli.collapse.conventions import OWN_MEANS
from gnc_cli.collapse.result import (
    CLASSIC,
    MAIN_CLASSIC,
    NAMES,
    STAND_IN,
    ClassCounts,
    ClassRow,
    DuplicatePair,
    Gnc2Reference,
    MeasureResult,
    MeasureSeries,
    ReachRow,
    ReachSummary,
    WithoutDuplicates,
    distinct_names,
)
from gnc_cli.console.details import details
from gnc_cli.console.table import Cell, Styled, Table, facts
from gnc_cli.figures import (
    brief,
    certified,
    count,
    format_bracket,
    lower_end,
    plural,
    rounded,
    short,
)
from gnc_cli.metrics.spectrum import ALL_ROWS, FeatureSpectrum

Columns = Mapping[str, Sequence[str | None]]
"""Headings with the cells below them; one without cells is left out."""

_MAX_PAIRS = 10
"""Number of pairs of duplicates that are shown, as fit on a screen; --json has more."""
_MAX_REACH_CLASSES = 5
"""Number of classes that a line of `--reach` names, as fit into it; --json has all."""
_MIN_CLASS_SAMPLES = 5
"""Number of samples of the smallest class below which the report shows it: the spread within a
class of so few samples is unreliable."""
_PLACE_KEYS = ("epoch", "step", "layer", "split")
"""Keys of the place of a set in its run or network."""
_REPORTED_KEYS = ("N", "out", "notes", "warnings", "without_duplicates", "policy.head")
"""Keys that the title, a separate table or the notes below show."""
_SPECTRUM = {
    "effective_rank": "effective rank",
    "participation_ratio": "participation ratio",
    "stable_rank": None,
    "first_share": "first eigenvalue",
    "mean_cosine": "mean cosine",
    "mean_cosine_centred": "centred",
    "uniformity": "uniformity",
    "near_duplicates": None,
}
"""Metrics of features without labels by key, with their columns in the table of several sets."""
_KIND_NAMES = {
    "theorem": "optimal",
    "table": "best known",
    "solved": "code found by gnc",
    "construction": "construction",
    "file": "of a file",
    "pinned": "pinned",
}
"""Names of the kinds of references of GNC2."""
_ABOVE_REFERENCE = "better than the code known to gnc"
"""Remark on a ratio above 1: it is not a record, since only codes known to gnc were compared."""
_RATIO_TOLERANCE = 1e-9
"""Excess of a ratio over 1 that rounding can cause."""


def view(result: MeasureResult | MeasureSeries, verbose: bool) -> list[Table]:
    """Return the tables for a person.

    Args:
        result: one set, or several.
        verbose: every value, the worst classes, whole sources and the keys of the JSON.
    """
    if isinstance(result, MeasureResult):
        return _set_tables(result, verbose)
    return _series_tables(result, verbose)


# One set ------------------------------------------------------------------------------------------


def _set_tables(r: MeasureResult, verbose: bool) -> list[Table]:
    """Return the report of one set, with the tables of duplicates and of reach."""
    places = _place_values(r)
    if not verbose:
        # The name of the snapshot has the epoch and the split; the epoch implies the step.
        implied = [key for key in ("epoch", "split") if places.get(key, "-") in (r.snapshot or "")]
        implied += ["step"] if "epoch" in places else []
        places = {key: value for key, value in places.items() if key not in implied}
    place = ", ".join(f"{key} {value}" for key, value in places.items())
    samples = "no samples" if r.N is None else f"N = {count(r.N)}"
    title = f"{r.file or 'arrays'}{f': {r.snapshot}' if r.snapshot else ''}   {samples}, "
    title += f"d = {count(r.d)}, " + ("no labels" if r.K is None else f"K = {count(r.K)}")
    title += f"   {place}" if place else ""
    rows = [] if r.gnc2 is None else _report_rows(r, r.gnc2)
    rows += [] if r.K or r.features is None else _spectrum_rows(r, r.features)
    tables = [facts(title, rows, forms_note(r), verbose=verbose)]
    reaches = {"reach": r.reach, "reach_sets": r.reach_sets}
    extras = [
        _reach_table(key, reach, verbose) for key, reach in reaches.items() if reach is not None
    ]
    if r.duplicates is not None and r.without_duplicates is not None:
        extras.insert(0, _duplicates_table(r.duplicates, r.without_duplicates))
    if verbose:
        tables.append(details(r, [*tables, *extras], *_REPORTED_KEYS))
        tables += [_worst_table(r.worst_classes)] if r.worst_classes else []
    else:  # metrics of `--variants` and `--ood`
        tables.append(details(r.variants, (), title="variants"))
    return [*tables, *extras, Table(notes=_notes([r], r.out))]


def _report_rows(r: MeasureResult, rho: Bracket) -> list[tuple[str, str, str, str]]:
    """Return the main metrics with necessary remarks, without conventions."""
    raw = "raw features" if r.policy.normalize == "off" else ""
    gnc1, gnc3 = r.forms.values()
    stand_in = "" if _has_weights(r) else "class means stand in for weights; "
    inside = rho.lower == 0.0 and rho.upper <= 1e-9
    proof = "a class lies in the hull of the others" if inside else certified(rho)
    ratio = "-" if r.gnc2_ratio is None else at_least(rho, r.gnc2_ratio, share_text(r.gnc2_ratio))
    source = (r.policy.class_means or {}).get("ncc", OWN_MEANS)
    nearest = "nearest class mean" + ("" if source == OWN_MEANS else f" of {source}")
    classifier = (
        "" if r.accuracy is None else f"; classifier {share_text(r.accuracy)}{_head_remark(r)}"
    )
    accuracy = r.accuracy if r.ncc_accuracy is None else None
    classic = CLASSIC if _asks_classic([r]) else {}
    rows = [
        (NAMES[gnc1], figure(getattr(r, gnc1)), raw, gnc1),
        ("GNC2", lower_end(rho, 12), stand_in + proof, "gnc2"),
        ("  ratio", ratio, _ratio_remark(r), "gnc2_ratio"),
        (NAMES[gnc3], figure(getattr(r, gnc3)), raw, gnc3),
        ("NCC accuracy", share_text(r.ncc_accuracy), nearest + classifier, "ncc_accuracy"),
        ("accuracy", share_text(accuracy), f"classifier{_head_remark(r)}", "accuracy"),
        *([] if r.classes is None or r.N is None else _count_rows(r.classes, r.K)),
        *((name, figure(getattr(r, key)), raw, key) for key, name in classic.items()),
    ]
    return [row for row in rows if row[1] != "-"]


def _ratio_remark(r: MeasureResult) -> str:
    """Return the remark on the ratio: the reference, and the ratio of random rows."""
    if r.gnc2_reference is None:
        return ""
    by_chance = "" if (v := r.gnc2_ratio_random) is None else f"; random rows {v:.2f}"
    text = reference_text(r.gnc2_reference, 19 if by_chance else 34) + by_chance
    return f"of {r.gnc2_reference.value:.6g}, {_ABOVE_REFERENCE if _above_one(r) else text}"


def _count_rows(c: ClassCounts, K: int | None) -> Iterable[tuple[str, str, str, str]]:
    """Yield lines on classes without samples, and on a smallest class of few samples."""
    if c.missing:
        ellipsis = ", ..." if c.missing > len(c.missing_labels) else ""
        missing = f"without samples: {', '.join(map(str, c.missing_labels))}{ellipsis}"
        missing = brief(missing, 48) or f"{count(c.missing)} without samples"
        yield "classes", f"{count(c.present)} of {count(K)}", missing, "classes.present"
    if c.min_count is not None and 0 < c.min_count < _MIN_CLASS_SAMPLES:
        single = f"classes of one sample, which add nothing to GNC1: {count(c.single_sample)}"
        extent = f"{count(c.min_count)} to {count(c.max_count)}"
        yield "samples per class", extent, single if c.single_sample else "", "classes.min_count"


def _spectrum_rows(r: MeasureResult, f: FeatureSpectrum) -> list[tuple[str, str, str, str]]:
    """Return lines on the dimensions of features without labels, with their values at collapse."""
    pairs = "all pairs"
    if f.uniformity_error is not None:
        error = figure(f.uniformity_error, 2)
        pairs = f"{count(f.uniformity_rows)} rows drawn, standard error {error}"
    limit = "" if f.near_duplicates is not None else f"not counted beyond {count(ALL_ROWS)} rows; "
    rows = (
        (
            "effective rank",
            figure(f.effective_rank),
            f"of at most {count(min(r.d, r.N or r.d))}: exp(entropy of singular values), raw rows; "
            "collapse is 1",
        ),
        (
            "participation ratio",
            figure(f.participation_ratio),
            f"of at most {count(r.d)}: eigenvalues of the covariance that count; collapse is 1",
        ),
        (
            "stable rank",
            figure(f.stable_rank),
            "sum of squares over the largest, raw rows; collapse is 1",
        ),
        (
            "first eigenvalue",
            share_text(f.first_share),
            f"share of the covariance, at least {figure(1.0 / r.d, 2)}; collapse is 1",
        ),
        (
            "mean cosine",
            figure(f.mean_cosine),
            "of two rows; 0 spread evenly, collapse is 1",
        ),
        ("  centred", figure(f.mean_cosine_centred), "the same less the mean of all rows"),
        (
            "uniformity",
            figure(f.uniformity),
            f"log mean exp(-2 |x - y|^2), {pairs}; collapse is 0",
        ),
        (
            "near-duplicates",
            count(f.near_duplicates),
            f"{limit}rows whose cosine with another is at least {f.near_duplicate_cosine:g}",
        ),
    )
    return [(*row, f"features.{key}") for row, key in zip(rows, _SPECTRUM, strict=True)]


def _worst_table(rows: Sequence[ClassRow]) -> Table:
    """Return the table of the classes nearest to the hull of the others."""
    columns: Columns = {
        "class": [class_name(c.label, c.name) for c in rows],
        "one-vs-rest": _column(rows, "one_vs_rest", lambda rho: proved(rho, 9)),
        "N": _column(rows, "count", count),
        "norm": _column(rows, "mean_norm", "{:.4f}".format),
        "spread": _column(rows, "spread", short),
        "accuracy": _column(rows, "accuracy", "{:.4f}".format),
        "margin": _column(rows, "min_margin", "{:.4f}".format),
        "cosine": _column(rows, "nearest_cosine", "{:.6f}".format),
        "nearest": [
            None if c.nearest is None else class_name(c.nearest, c.nearest_name) for c in rows
        ],
    }
    return _filled_table("classes nearest to the hull of the others", columns, ("class", "nearest"))


def _duplicates_table(pairs: Sequence[DuplicatePair], rest: WithoutDuplicates) -> Table:
    rows = [
        (f"{p.cosine:.9f}", f"{class_name(p.a, p.a_name)}, {class_name(p.b, p.b_name)}")
        for p in pairs[:_MAX_PAIRS]
    ]
    notes = [f"... and {count(rest.pairs - len(rows))} more"] if rest.pairs > len(rows) else []
    notes.append(
        "one class is left without them, and no GNC2: raise the cosine"
        if rest.gnc2 is None
        else f"GNC2 without them {lower_end(rest.gnc2, 12)}, {count(rest.classes)} classes, "
        f"{certified(rest.gnc2)}"
    )
    title = f"duplicates: {plural(rest.pairs, 'pair')} of classes above {rest.cosine:g}"
    return Table(title, ("cosine", "classes"), rows, notes, text=frozenset({1}))


def _reach_table(key: str, reach: ReachSummary, verbose: bool) -> Table:
    """Return the table of the classes, or sets of them, that can win, with the least margins."""
    ball, domain = f"in the ball |h| <= {reach.feature_norm:.6g}", " of the ball"
    if math.isinf(reach.feature_norm):
        ball, domain = "of any norm, margins per unit of it", ""
    kinds = {
        "cannot win": ("unreachable", reach.unreachable.lower, reach.unreachable_rows),
        "can only tie": ("ties", reach.ties.lower, reach.tied_rows),
        "not decided": ("undecided", reach.undecided, reach.undecided_rows),
    }
    remark = f"with some feature{domain}; after ReLU or LayerNorm maybe with none"
    rows = [
        ("can win", count(reach.can_win), remark if reach.can_win else "", f"{key}.can_win"),
        *(
            (kind, count(int(n)), _subject_text(subjects), f"{key}.{end}")
            for kind, (end, n, subjects) in kinds.items()
        ),
        *(
            ("" if place else "least margins", proved(row.margin, 6), _subject_text([row]), "")
            for place, row in enumerate(reach.hardest_rows[:_MAX_REACH_CLASSES])
        ),
    ]
    if reach.best_possible is not None:
        remark = f"largest possible least margin of {count(reach.rivals)} unit rows"
        rows.append(("possible", f"{reach.best_possible:.6f}", remark, f"{key}.best_possible"))
    sets = plural(reach.subjects, "set")
    subjects = f"{count(reach.subjects)} classes" if key == "reach" else sets
    title = f"reach of {subjects} against all {count(reach.rivals)} classes, features {ball}"
    return facts(title, rows, verbose=verbose)


def _subject_text(rows: Sequence[ReachRow]) -> str:
    """Return the first few classes or sets, with the bound of undecided ones."""
    texts = []
    for row in rows[:_MAX_REACH_CLASSES]:
        text = " + ".join(map(class_name, row.labels, row.names or [None] * len(row.labels)))
        twin = "" if row.twin is None else f" = {class_name(row.twin, row.twin_name)}"
        is_open = row.margin.lower <= 0.0 < row.margin.upper < math.inf
        bound = f" (reach at most {rounded(row.margin.upper, True, 2)})" if is_open else ""
        texts.append(text + twin + bound)
    rest = f", {count(len(rows) - len(texts))} more" if len(rows) > len(texts) else ""
    return ", ".join(texts) + rest


# Several sets -------------------------------------------------------------------------------------


def _series_tables(series: MeasureSeries, verbose: bool) -> list[Table]:
    """Return a table with a line per set, that of the classic metrics, and the notes."""
    rows = series.rows
    files = {row.file for row in rows}
    # Values that all prefixes of one set share are in the title.
    prefixes = all(r.prefix_of is not None for r in rows)
    shared = prefixes and len({(r.prefix_of, r.N, r.K) for r in rows}) == 1
    one = f"   {rows[0].file or 'arrays'}" if len(files) == 1 else ""
    skipped = f", {series.skipped} of them measured before" if series.skipped else ""
    places = [_place_values(row) for row in rows]
    # Rows that file, epoch and split distinguish need no names of their snapshots.
    distinct = len({(r.key[2], r.file, *p.items()) for r, p in zip(rows, places, strict=True)})
    snapshots = len({r.snapshot for r in rows}) > 1 and (verbose or distinct < len(rows))
    sizes = len({(r.d, r.K) for r in rows}) > 1
    names = distinct_names(r.file or "arrays" for r in rows)
    forms = series.forms
    mixed = len({_has_weights(r) for r in rows if r.K}) > 1
    place_columns: Columns = {
        "file": [names[r.file or "arrays"] for r in rows if len(files) > 1],
        "snapshot": [r.snapshot for r in rows if snapshots],
        **{key: [place.get(key) for place in places] for key in _PLACE_KEYS},
        "d": [count(r.d) for r in rows if prefixes],
    }
    columns: Columns = {
        **place_columns,
        "d": [count(r.d) for r in rows if sizes or prefixes],
        "K": _column(rows if sizes and not shared else [], "K", count),
        "N": _column([] if shared else rows, "N", count),
        NAMES[forms["gnc1"]]: _column(rows, forms["gnc1"], short),
        "GNC2": [
            None if r.gnc2 is None else proved(r.gnc2, 6) + ("" if _has_weights(r) else "*") * mixed
            for r in rows
        ],
        "ratio": [
            None
            if r.gnc2_ratio is None or r.gnc2 is None
            else at_least(r.gnc2, r.gnc2_ratio, f"{r.gnc2_ratio:.4f}", 4)
            for r in rows
        ],
        "possible": _column(rows, "gnc2_possible", format_bracket),
        NAMES[forms["gnc3"]]: _column(rows, forms["gnc3"], short),
        "cannot win": [
            None if r.reach is None else count(int(r.reach.unreachable.lower)) for r in rows
        ],
        "NCC": _column(rows, "ncc_accuracy", "{:.4f}".format),
        "accuracy": _column(rows, "accuracy", "{:.4f}".format),
        **{
            name: [
                None if r.K or (value := getattr(r.features, key)) is None else figure(value, 4)
                for r in rows
            ]
            for key, name in _SPECTRUM.items()
            if name is not None
        },
    }
    title = f"Collapse{one}   {plural(len(rows), 'row')}{skipped}"
    if shared:
        samples = "" if rows[0].N is None else f"N = {count(rows[0].N)}, "
        classes = "no labels" if rows[0].K is None else f"K = {count(rows[0].K)}"
        title += f"   prefixes of d = {count(rows[0].prefix_of)}, {samples}{classes}"
    words = ("file", "snapshot", "layer", "split")
    tables = [_filled_table(title, columns, words)]
    if _asks_classic(rows):
        classic = {name: _column(rows, key, short) for key, name in MAIN_CLASSIC.items()}
        tables.append(
            _filled_table("Classic metrics of raw rows", {**place_columns, **classic}, words)
        )
    letters = None if verbose else 50
    references = dict.fromkeys(
        f": GNC2 / {r.gnc2_reference.value:.9f}, {reference_text(r.gnc2_reference, letters)}"
        for r in rows
        if r.gnc2_reference is not None and (verbose or not prefixes)
    )
    others = dict.fromkeys(
        f": those of {r.policy.class_means['ncc']} for GNC1 and NCC"
        + (f" of split {r.split}" if r.split else "")
        for r in rows
        if r.policy.class_means is not None and r.policy.class_means["ncc"] != OWN_MEANS
    )
    unbiased = any(r.accuracy is not None and "no bias" in _head_remark(r) for r in rows)
    stand_in = any(row.policy.weights == STAND_IN for row in rows)
    bounded = any(r.gnc2_possible is not None for r in rows)
    notes = [
        *_notes_named("ratio", *references),
        *_notes_named("ratio", any(map(_above_one, rows)) and f" above 1: {_ABOVE_REFERENCE}"),
        *_notes_named("class means", *others),
        *_notes_named("accuracy", unbiased and ": of weights without a bias"),
        *_notes_named(
            "GNC2",
            stand_in and f"{'*' if mixed else ':'} of the class means, as there are no weights",
        ),
        *_notes_named("possible", bounded and ": rho*, the largest GNC2 of any K unit rows"),
        *_notes_named(
            "NC2 angles, ETF", prefixes and _asks_classic(rows) and ": no simplex where d < K - 1"
        ),
        *forms_note(series),
    ]
    return [*tables, Table(notes=[*notes, *_notes(rows, series.out)])]


def _filled_table(title: str, columns: Columns, words: Sequence[str]) -> Table:
    """Return a table of the columns that are not empty; those in `words` are aligned as text."""
    filled = {name: cells for name, cells in columns.items() if any(cells)}
    places = frozenset(index for index, name in enumerate(filled) if name in words)
    return Table(title, list(filled), list(zip(*filled.values(), strict=True)), text=places)


def _column(rows: Iterable[Any], key: str, text: Callable[[Any], str]) -> list[str | None]:
    values = (getattr(row, key) for row in rows)
    return [None if value is None else text(value) for value in values]


# Words --------------------------------------------------------------------------------------------


def _notes(rows: Sequence[MeasureResult], out: str | None) -> list[Cell]:
    """Return notes on the heads, the reading of files, and the file written."""
    heads = dict.fromkeys(f"  {row.policy.head}" for row in rows if row.policy.head is not None)
    notes = dict.fromkeys(f"  {note}" for row in rows for note in row.notes)
    return [
        *_notes_named("head", *heads),
        *_notes_named("note", *notes),
        *_notes_named("written", out is not None and f"  {out}"),
    ]


def _notes_named(name: str, *texts: Any) -> list[Cell]:
    """Return a note under a name for each text that is not false."""
    return [(Styled(name, "bold"), text) for text in texts if text]


def forms_note(result: Any) -> list[Cell]:
    """Return the reason for a centred GNC1 or GNC3; empty if neither is centred."""
    return _notes_named("centred", result.centring_reason and f": {result.centring_reason}")


def _has_weights(row: MeasureResult) -> bool:
    """Return True if GNC2 is that of a classifier's weights, not of class means."""
    return row.policy.weights == "given"


def _asks_classic(rows: Sequence[MeasureResult]) -> bool:
    return any(row.policy.variants == "classic" for row in rows)


def _place_values(row: MeasureResult) -> dict[str, str]:
    """Return epoch, step, layer and split, as far as the file has them."""
    return {
        key: f"{value:g}" if isinstance(value, float) else str(value)
        for key in _PLACE_KEYS
        if (value := getattr(row, key)) is not None
    }


def _head_remark(r: MeasureResult) -> str:
    """Return `, no bias`, `, cosine head` and the like; empty for W h + b and for logits."""
    space = r.policy.spaces.get("accuracy", "")  # missing in null rows
    words = space.replace("raw rows", "").replace(" of ", "").strip(", ")
    return f", {words}" if words not in ("", "logits") else ""


def figure(value: float | None, digits: int = 6) -> str:
    """Format a number to `digits` significant digits, below 0.001 with an exponent; - for None."""
    if value is None or math.isnan(value):
        return "-"
    if 0.0 < abs(value) < 1e-3:
        return f"{value:.{digits - 1}e}"
    return f"{value:#.{digits}g}".rstrip(".") if value else "0"


def share_text(value: float | None, digits: int = 6) -> str:
    """Format a share of samples with this number of decimals or more; `-` for None.

    Only a share of exactly 1 is printed as 1.

    >>> share_text(0.99996, 4)
    '0.999960'
    """
    if value is None:
        return "-"
    text = f"{value:.{digits}f}"
    distinct = value == 1.0 or digits > 8 or float(text) < 1.0
    return text if distinct else share_text(value, digits + digits // 2)


def at_least(bracket: Bracket, value: float, text: str, digits: int = 6) -> str:
    """Return `text` for a `value` of the lower end, or `>=` and a rounded lower bound.

    The bound is used if the bracket is wider than the printed digits.

    >>> at_least(Bracket(0.703, 1.186), 0.7030007, "0.703001")
    '>=0.703000'
    """
    if bracket.width <= 10.0**-digits:
        return text
    return f">={lower_end(Bracket(value, math.inf), digits)}"


def proved(bracket: Bracket, max_digits: int) -> str:
    """Format the certified lower end to at most `max_digits` digits; `>=` marks a wide bracket."""
    return at_least(bracket, bracket.lower, lower_end(bracket, max_digits))


def reference_text(reference: Gnc2Reference, letters: int | None) -> str:
    """Return the status of the reference of GNC2 with its name, source and version.

    Args:
        reference: the reference.
        letters: only the status, with the name if both take at most this many letters; None: all.
    """
    kind = "optimal" if reference.proven else _KIND_NAMES.get(reference.kind, reference.kind)
    parts = [reference.id] if reference.id != reference.kind else []
    if letters is not None:
        return (parts and brief(f"{kind}: {parts[0]}", letters)) or kind
    parts.append(reference.source)
    version = f" ({reference.data_version})" if reference.data_version else ""
    return f"{kind}: {'; '.join(parts)}{version}"


def _above_one(r: MeasureResult) -> bool:
    """Return True if the weights are better than the code of gnc that they are compared with."""
    kind = None if r.gnc2_reference is None else r.gnc2_reference.kind
    is_code = kind in ("table", "solved", "construction")
    return is_code and r.gnc2_ratio is not None and r.gnc2_ratio > 1.0 + _RATIO_TOLERANCE


def class_name(label: int, name: str | None) -> str:
    """Return the text `cat (3)`, or the label if the class has no name."""
    return str(label) if name is None else f"{name} ({label})"
