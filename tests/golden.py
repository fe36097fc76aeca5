"""Comparison of a printed JSON with a golden one: keys in order, values up to rounding."""

import json
import math
from pathlib import Path
from typing import Any

OF_THE_DAY = {
    "seconds",
    "measure_seconds",
    "images_per_second",
    "measure_share",
    "version",
    "steps",
}
"""Keys whose values are of the clock, or of the processor."""


def check(printed: str, golden: Path) -> None:
    """Compare what `--json` printed with a file of the same.

    Raises:
        AssertionError: names the first key that differs.
    """
    _like(json.loads(printed), json.loads(golden.read_text(encoding="utf-8")), golden.stem)


def _like(value: Any, golden: Any, key: str) -> None:
    if isinstance(golden, dict):
        # A key may be added; none may go, and the order stays.
        assert isinstance(value, dict) and [k for k in value if k in golden] == list(golden), key
        for name in golden.keys() - OF_THE_DAY:
            _like(value[name], golden[name], f"{key}.{name}")
    elif isinstance(golden, list):
        assert isinstance(value, list) and len(value) == len(golden), key
        for place, (ours, theirs) in enumerate(zip(value, golden, strict=True)):
            _like(ours, theirs, f"{key}.{place}")
    elif isinstance(golden, float) and isinstance(value, (int, float)):
        assert math.isclose(value, golden, rel_tol=1e-7, abs_tol=1e-9), (key, value, golden)
    else:
        assert value == golden, key
