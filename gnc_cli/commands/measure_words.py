"""Figures and remarks of `gnc measure` as a person reads them."""

from collections.abc import Iterable
from typing import Any

from gnc_cli.commands.solve_table import bracket_value
from gnc_cli.results.figures import count

__all__ = [
    "at_least", "class_name", "figure", "place_text", "policy_text", "proved", "reference_text",
    "share", "size_text", "space_text",
]  # fmt: skip

_KINDS = {
    "theorem": "best known", "table": "best known", "solved": "best known, our own code",
    "construction": "best known, a construction", "file": "of a file", "pinned": "pinned",
}  # fmt: skip


def figure(value: float | None, digits: int = 6) -> str:
    """So many significant digits, with an exponent below 0.001; a dash for null."""
    if value is None:
        return "-"
    if 0.0 < abs(value) < 1e-3:
        return f"{value:.{digits - 1}e}"
    return f"{value:#.{digits}g}".rstrip(".") if value else "0"


def share(value: float | None) -> str:
    """A share of samples; a dash for null. Only the whole is 1."""
    if value is None:
        return "-"
    text = f"{value:.6f}"
    return text if value == 1.0 or float(text) < 1.0 else f"{value:.9f}"


def at_least(bracket: dict[str, Any], value: float, text: str, digits: int = 6) -> str:
    """`text` for `value`, which follows from the lower end; rounded down and marked where the upper
    end is not near.

    >>> at_least({"lower": 0.703, "upper": 1.186}, 0.7030007, "0.703001")
    '>=0.703000'
    """
    lower, upper = bracket["lower"], bracket["upper"]
    far = lower is not None and (upper is None or upper - lower > 10.0**-digits)
    return f">={bracket_value({'lower': value, 'upper': None}, digits)}" if far else text


def proved(bracket: dict[str, Any], most: int) -> str:
    """The certified lower end to `most` digits, at least 6; marked where that is all."""
    return at_least(bracket, bracket["lower"], bracket_value(bracket, most))


def reference_text(reference: dict[str, Any], verbose: bool = False) -> str:
    """What GNC2 is held against: how good it is, by name, of which table or version."""
    said = "optimal" if reference["proven"] else _KINDS.get(reference["kind"], reference["kind"])
    parts = [reference["id"]] if reference["id"] != reference["kind"] else []
    parts += [reference["source"]] if verbose or reference["kind"] == "pinned" else []
    version = f" ({reference['data_version']})" if reference["data_version"] else ""
    return f"{said}: {'; '.join(parts)}{version}" if parts else f"{said}{version}"


def class_name(label: int | None, name: str | None) -> str:
    """`cat (3)`, or the label alone."""
    return "-" if label is None else str(label) if name is None else f"{name} ({label})"


def size_text(r: dict[str, Any]) -> str:
    """`N = 50 000, d = 512, K = 1 000`."""
    samples = "no samples, " if r["N"] is None else f"N = {count(r['N'])}, "
    return f"{samples}d = {count(r['d'])}, K = {count(r['K'])}"


def place_text(r: dict[str, Any], without: Iterable[str] = ()) -> str:
    """`epoch 10, layer fc, split test`: what the file says of the row."""
    keys = [k for k in ("epoch", "step", "layer", "split") if k not in set(without)]
    said = [(k, r[k]) for k in keys if r.get(k) is not None]
    return ", ".join(f"{k} {v:g}" if isinstance(v, float) else f"{k} {v}" for k, v in said)


def space_text(policy: dict[str, Any]) -> str:
    """In which rows the GNC metrics are: `unit` or `raw`."""
    return "raw" if policy["normalize"] == "off" else "unit"


def policy_text(policy: dict[str, Any]) -> str:
    """Everything that was done, in one line."""
    said = [f"{space_text(policy)} rows for GNC and NCC"]
    said += ["weights given" if policy["weights"] == "given" else policy["weights"]]
    means = policy["class_means"]
    if means is not None:
        said.append(f"Sigma_B {policy['between_cov']}")
        said += [] if means["ncc"] == "own" else [f"class means of {means['ncc']}"]
        said.append(f"missing classes: {policy['missing']}")
    left_out, precision = policy["classes_left_out"], policy["precision"]
    if left_out:
        why = [policy["classes"]] if policy["classes"] else []
        why += [f"at least {policy['min_count']} samples"] if policy["min_count"] else []
        said.append(f"{count(left_out)} classes left out ({', '.join(why)})")
    stored = f"{precision['storage']} stored, " if precision["storage"] else ""
    said.append(f"{stored}{precision['sums']} sums")
    said += [f"variants: {policy['variants']}"] if policy["variants"] != "none" else []
    rows = policy["chunk_rows"]
    return "; ".join(said + ([f"{count(rows)} rows a chunk"] if rows else []))
