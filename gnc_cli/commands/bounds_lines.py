"""Bounds as samples for a dashboard."""

from collections.abc import Sequence
from typing import Any

__all__ = ["asked_keys", "bounds_lines"]


def asked_keys(result: dict[str, Any]) -> dict[str, Any]:
    """What was asked for, as labels: the quantity, the target, the probability."""
    target = "max_cosine" if result["arcface_m"] is None else "arcface_m"
    keys = ("quantity", "margin", target, "probability")
    return {key: result[key] for key in keys if result[key] is not None}


def bounds_lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """What a dashboard samples: the best of each pair, K or d, then each bound that holds.

    What was asked for stands under `d` and `K`, which label; what was found under names of its own.

    Args:
        result: `BoundsResult.to_json()`.
    """
    head = {"command": result["command"]}
    if result["dimension"] is not None:
        best, rows = (result["dimension"][k] for k in ("best", "rows"))
        found = [_kept(r, ("K", "name", "side")) | {"smallest_d": r["d"]} for r in rows]
    elif result["classes"] is not None:
        best, rows = (result["classes"][k] for k in ("best", "rows"))
        most = ("largest_K" if r["exists"] else "excluded_K" for r in rows)
        named = [_kept(r, ("d", "name", "side", "log10_K")) for r in rows]
        found = [n | {k: r["K"]} for n, r, k in zip(named, rows, most, strict=True)]
    else:
        best, rows = result["best"], result["rows"]
        keys = ("d", "K", "name", "side", "value", "angle_deg")
        found = [_kept(r, keys) for r in rows if r["valid"]]
    return [head | row for row in [*best, *found]]


def _kept(row: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {k: row[k] for k in keys}
