"""Questions of every kind, and what `bounds` answers: for tables, plots, reports and schemas."""

from functools import cache
from typing import Any

from gnc_cli import bounds
from gnc_cli.limits.result import BoundsResult

QUESTIONS: dict[str, dict[str, Any]] = {
    "pair": {"d": 10, "K": 100, "margin": 0.6, "probability": 0.9},
    "angles": {"d": 10, "K": 100, "arcface_m": 1.0},
    "known exactly": {"d": 3, "K": 12, "max_cosine": 0.4472136},
    "hypothesis fails": {"d": 1000, "K": 101},
    "tiny": {"d": 3, "K": 10**9},
    "near 1": {"d": 2, "K": 10**18, "quantity": "one-vs-one"},
    "over d": {"d": [2, 4, 8, 16, 32, 64, 128], "K": 1000, "margin": 0.3, "probability": 0.9},
    "every d": {"d": range(2, 60), "K": 1000, "quantity": "one-vs-one"},
    "two d": {"d": [127, 128], "K": 500},
    "panels": {"d": [64, 128, 256], "K": [10572, 85742, 360232], "margin": 0.3},
    "over K": {"d": 3, "K": [10**n for n in range(2, 9)]},
    "panels over K": {"d": [8, 64], "K": [100, 1000, 10**4], "margin": 0.3},
    "very large K": {"d": 64, "K": [10**6, 10**12, 10**15, 10**18]},
    "many K": {"d": [4, 8, 16, 32, 64, 128, 256], "K": [10**n for n in range(2, 9)], "margin": 0.3},
    "dimension": {"K": 10**6, "margin": 0.3, "probability": 0.9},
    "impossible": {"K": 3, "margin": 1.9},
    "not up to a million": {"K": 10**18, "margin": 0.9999},
    "dimensions": {"K": [10**n for n in range(3, 9)], "margin": 0.7},
    "few dimensions": {"K": [1000, 10**18], "max_cosine": 0.5},
    "classes": {"d": 512, "margin": 0.9},
    "classes of one more": {"d": 8, "max_cosine": 0.5},
    "classes over d": {"d": range(2, 12), "max_cosine": 0.5},
    "classes of far d": {"d": [8, 16, 32, 64, 128], "margin": 0.9},
    "classes of two d": {"d": [8, 64], "margin": 0.5, "probability": 0.99},
}


@cache
def result(name: str) -> BoundsResult:
    """What `bounds` says."""
    return bounds(**QUESTIONS[name])
