"""One set of features or weights as a sheet of lines: a number, then what it is of."""

from collections.abc import Callable
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from gnc_cli.commands.compare_words import small
from gnc_cli.commands.fitted_table import Column, FittedTable
from gnc_cli.commands.measure_words import (
    at_least,
    class_name,
    figure,
    place_text,
    policy_text,
    proved,
    reference_text,
    share,
    size_text,
    space_text,
)
from gnc_cli.commands.sheet_lines import Line, sheet_lines
from gnc_cli.commands.solve_table import bracket_value, certified
from gnc_cli.results.figures import count

__all__ = ["measure_sheet"]

_PAIRS = 10
"""Pairs of duplicates that are shown; --json has more."""
_QUANTILES = {
    "q0_001": "0.1 %", "q0_01": "1 %", "q0_1": "10 %", "q0_5": "median",
}  # fmt: skip


def measure_sheet(r: dict[str, Any], verbose: bool) -> list[RenderableType]:
    """Title, lines, tables of classes and policy of one result's JSON."""
    grid, line = sheet_lines(verbose)

    _collapse(r, line, verbose)
    _shares(r, line)
    _margins(r, line)
    _classes(r, line)
    _variants(r, line)
    name = r["file"] or "arrays"
    name += f": {r['snapshot']}" if r["snapshot"] else ""
    where = place_text(r)
    title = Text.assemble((name, "bold"), f"   {size_text(r)}", f"   {where}" if where else "")
    parts: list[RenderableType] = [title, "", grid]
    if r["worst_classes"]:
        parts += ["", Text("classes nearest to the hull of the others", "bold"), _worst(r)]
    if r["duplicates"] is not None:
        parts += ["", *_duplicates(r["duplicates"], r["without_duplicates"])]
    parts += ["", Text(f"policy: {policy_text(r['policy'])}", "dim")]
    written = [Text.assemble(("written  ", "bold"), str(r["out"]))] if r["out"] else []
    return [*parts, *written]


def _collapse(r: dict[str, Any], line: Line, verbose: bool) -> None:
    policy, boot = r["policy"], r["bootstrap"] or {}
    space = space_text(policy)
    if r["gnc1"] is not None:
        rank = f"{space} features, Sigma_B {policy['between_cov']}, rank {count(r['gnc1_rank'])}"
        line("GNC1", figure(r["gnc1"]), _interval(boot, "gnc1") + rank, "gnc1")
    rho = r["gnc2"]
    proof = "a class lies in the hull of the others" if _inside(rho) else certified(rho)
    rows = "" if policy["weights"] == "given" else "class means stand in for weights; "
    line("GNC2", bracket_value(rho, 12), rows + proof, "gnc2")
    reference = r["gnc2_reference"]
    if reference is None:
        why = "references are of unit rows" if space == "raw" else "none known for this d and K"
        line("  reference", "-", why, "gnc2_reference")
    else:
        line("  reference", f"{reference['value']:.12f}", reference_text(reference, verbose),
             "gnc2_reference")  # fmt: skip
        ratio = r["gnc2_ratio"]
        line("  ratio", at_least(rho, ratio, share(ratio)), "GNC2 / reference", "gnc2_ratio")
    quantiles = r["gnc2_quantiles"]
    if quantiles is not None:
        of = f"quantiles over {count(quantiles['classes'])} classes"
        of += "" if quantiles["seed"] is None else f", a sample of seed {quantiles['seed']}"
        for at, (key, name) in enumerate(_QUANTILES.items()):
            line(f"  {name}", proved(quantiles[key], 9), "" if at else of,
                 f"gnc2_quantiles.{key}")  # fmt: skip
    if r["gnc3"] is not None:
        spaces = f"{space} features and weights, means as they are"
        line("GNC3", figure(r["gnc3"]), _interval(boot, "gnc3") + spaces, "gnc3")


def _inside(rho: dict[str, Any]) -> bool:
    return rho["lower"] == 0.0 and rho["upper"] is not None and rho["upper"] <= 1e-9


def _shares(r: dict[str, Any], line: Line) -> None:
    boot, space = r["bootstrap"] or {}, space_text(r["policy"])
    remarks = {
        "ncc_accuracy": ("NCC accuracy", f"nearest class mean, {space} features"),
        "ncc_leave_one_out": ("  leave one out", "each sample taken out of its own mean"),
        "accuracy": ("accuracy", "classifier: raw features, weights and bias, or logits"),
        "ncc_agreement": ("NCC agreement", "classifier and nearest mean name the same class"),
    }
    for key, (name, remark) in remarks.items():
        if r[key] is not None:
            line(name, share(r[key]), _interval(boot, key) + remark, key)
    margins = r["sample_margins"]
    if margins is not None:
        above = "share of samples whose one-vs-rest margin is above 0"
        line("positive margins", share(margins["positive_share"]), above,
             "sample_margins.positive_share")  # fmt: skip
        line("  smallest", figure(margins["min"]), "unit features, unit weights",
             "sample_margins.min")  # fmt: skip
        line("  mean", figure(margins["mean"]), "", "sample_margins.mean")


def _margins(r: dict[str, Any], line: Line) -> None:
    margins, free = r["margins"], r["rattlers"]
    cosface = margins["cosface"]
    line("CosFace margin", at_least(r["gnc2"], cosface, figure(cosface)),
         "largest m that every class can satisfy", "margins.cosface")  # fmt: skip
    line("ArcFace margin", figure(margins["arcface_rad"]),
         "radians, features on their weights", "margins.arcface_rad")  # fmt: skip
    wanted = f"{margins['probability']:g} on every class"
    if margins["scale"] is not None:
        said = f"softmax can reach {wanted} from here on"
    elif _inside(r["gnc2"]):
        said = f"softmax cannot reach {wanted} at any scale"
    else:
        said = f"no scale is proved to reach {wanted}"
    line("scale 1/tau", figure(margins["scale"]), said, "margins.scale")
    line("largest cosine", figure(r["max_cosine"]), "of two class weights", "max_cosine")
    if free is not None:
        line("rattlers", f"{count(free['one_vs_rest'])} one-vs-rest",
             f"free by more than {free['tolerance']:.1g}", "rattlers")  # fmt: skip


def _classes(r: dict[str, Any], line: Line) -> None:
    classes = r["classes"]
    if r["N"] is None:
        return
    missing = classes["missing_labels"]
    more = ", ..." if classes["missing"] > len(missing) else ""
    said = f"without samples: {', '.join(map(str, missing))}{more}" if missing else "with samples"
    line("classes", f"{count(classes['present'])} of {count(r['K'])}", said, "classes.present")
    span = f"{count(classes['min_count'])} to {count(classes['max_count'])}"
    single = classes["single_sample"]
    line("samples a class", span, f"{count(single)} with a single sample" if single else "",
         "classes.min_count")  # fmt: skip


def _variants(r: dict[str, Any], line: Line) -> None:
    authors = f"{r['policy']['spaces']['authors']}, Sigma_B centred"
    spaces = {"authors": authors, "classic": "raw rows; energies and ranks of unit rows"}
    for family, values in r["variants"].items():
        line(family, "", spaces.get(family, ""), f"variants.{family}")
        for key, value in values.items():
            said = count(value) if isinstance(value, int) else figure(value)
            line(f"  {key.replace('_', ' ')}", said, "", f"variants.{family}.{key}")


def _interval(boot: dict[str, Any], key: str) -> str:
    bounds = boot.get(key)
    if bounds is None:
        return ""
    ends = [figure(bounds[end], 5) for end in ("lower", "upper")]
    return f"{100 * boot['level']:g} %: {ends[0]} to {ends[1]}; "


def _worst(r: dict[str, Any]) -> RenderableType:
    rows = r["worst_classes"]
    columns: list[tuple[str, str, Callable[[dict[str, Any]], str]]] = [
        ("class", "label", lambda c: class_name(c["label"], c["name"])),
        ("one-vs-rest", "one_vs_rest", lambda c: proved(c["one_vs_rest"], 9)),
        ("nearest", "nearest", lambda c: class_name(c["nearest"], c["nearest_name"])),
        ("cosine", "nearest_cosine", lambda c: f"{c['nearest_cosine']:.6f}"),
        ("samples", "count", lambda c: count(c["count"])),
        ("mean norm", "mean_norm", lambda c: f"{c['mean_norm']:.4f}"),
        ("spread", "spread", lambda c: small(c["spread"])),
        ("accuracy", "accuracy", lambda c: f"{c['accuracy']:.4f}"),
        ("min margin", "min_margin", lambda c: f"{c['min_margin']:.4f}"),
    ]
    stay = 3  # which class, how far, from whom; of the others the last goes first
    return FittedTable([
        Column(name, ["-" if row[key] is None else text(row) for row in rows],
               name=key in ("label", "nearest"), spare=max(0, at - stay + 1))
        for at, (name, key, text) in enumerate(columns)
        if any(row[key] is not None for row in rows)
    ])  # fmt: skip


def _duplicates(pairs: list[dict[str, Any]], found: dict[str, Any]) -> list[RenderableType]:
    total = found["pairs"]
    head = f"{count(total)} pair{'' if total == 1 else 's'} of classes above {found['cosine']:g}"
    parts: list[RenderableType] = [Text.assemble(("duplicates", "bold"), f": {head}")]
    for pair in pairs[:_PAIRS]:
        a, b = class_name(pair["a"], pair["a_name"]), class_name(pair["b"], pair["b_name"])
        parts.append(Text(f"  {pair['cosine']:.9f}  {a}, {b}"))
    if total > _PAIRS:
        parts.append(Text(f"  ... and {count(total - len(pairs[:_PAIRS]))} more"))
    if found["gnc2"] is None:
        parts.append(Text("  one class is left without them, and no GNC2: raise the cosine"))
    else:
        said = f"  GNC2 without them {bracket_value(found['gnc2'], 12)}"
        parts.append(Text(f"{said}, {count(found['classes'])} classes, {certified(found['gnc2'])}"))
    return parts
