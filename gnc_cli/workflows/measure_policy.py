"""What was done, as the result's `policy` says it, and what a person should be warned of."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.stream_moments import StreamedMoments
from gnc_cli.workflows.measure_request import Request
from gnc_cli.workflows.measure_samples import Prepared
from gnc_cli.workflows.measure_weights import Weights

__all__ = [
    "check_unit", "describe_policy", "floor_warning", "means_policy", "policy_of", "storage_eps",
]  # fmt: skip


def policy_of(
    prepared: Prepared, weights: Weights, request: Request, found: StreamedMoments | None
) -> dict[str, Any]:
    """The policy block of a set read from files or arrays."""
    source = "own" if request.means_from is None else os.path.basename(request.means_from)
    return describe_policy(
        normalize=request.normalize,
        weights=weights,
        accuracy=_accuracy_space(prepared),
        class_means=None if found is None else means_policy(source),
        storage=None if prepared.features is None else str(prepared.features.dtype),
        variants=request.variants,
        missing=request.missing,
        classes=None if request.classes is None else os.path.basename(request.classes),
        min_count=request.min_count,
        classes_left_out=prepared.selection.K - prepared.K,
        chunk_rows=None if found is None else found.block,
    )


def _accuracy_space(prepared: Prepared) -> str:
    if prepared.features is None or (prepared.logits is None and prepared.weights is None):
        return "none"
    return "raw rows" if prepared.logits is None else "logits"


def describe_policy(
    *,
    normalize: str,
    weights: Weights,
    accuracy: str,
    class_means: dict[str, str] | None,
    storage: str | None,
    variants: str,
    missing: str = "skip",
    classes: str | None = None,
    min_count: int | None = None,
    classes_left_out: int = 0,
    chunk_rows: int | None = None,
) -> dict[str, Any]:
    """The policy block: spaces, means, missing classes, precision, variants, chunk size.

    Args:
        normalize: `auto`, `require` or `off`.
        weights: whose rows GNC2 is of.
        accuracy: `raw rows`, `logits` or `none`.
        class_means: of `means_policy`; None without samples.
        storage: dtype of the features.
        variants: which were asked for.
        missing: what was done about classes without samples.
        classes, min_count, classes_left_out: how classes were chosen.
        chunk_rows: rows read at a time.
    """
    own = "raw rows" if normalize == "off" else "unit rows"
    return {
        "normalize": normalize,
        "spaces": {
            "gnc1": own, "gnc2": own, "gnc3": own, "ncc": own, "sample_margins": "unit rows",
            "accuracy": accuracy, "authors": own, "classic": "raw rows", "energies": "unit rows",
        },
        "weights": "given" if weights.given else "class means stand in",
        "class_means": class_means,
        "between_cov": "not centred",
        "missing": missing,
        "classes": classes,
        "min_count": min_count,
        "classes_left_out": classes_left_out,
        "precision": {
            "storage": storage,
            "sums": "float64",
            "decisions": "float32 products, near ties again in float64",
        },
        "variants": variants,
        "chunk_rows": chunk_rows,
    }  # fmt: skip


def means_policy(source: str) -> dict[str, str]:
    """Whose class means each metric takes, where `source` are those that count."""
    return {"gnc1": source, "ncc": source, "variants": source, "gnc3": "own"}


def storage_eps(dtype: np.dtype) -> float:
    """Spacing of the stored numbers at 1; 0 for integers."""
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0


def floor_warning(moments: ClassMoments, dtype: np.dtype, unit: bool) -> str | None:
    """A warning where the spread within classes is what rounding on storage alone would leave.

    A rounded coordinate x is off by about `eps |x| / sqrt(12)`, so unit rows of one point have a
    mean squared distance of `eps**2 / 12` from their mean; up to four times that says nothing.
    """
    eps = storage_eps(dtype)
    trace = float(np.trace(moments.within_cov()))
    size = 1.0 if unit else float((moments.means**2).sum() / max(1, int(moments.present.sum())))
    if not eps or moments.N <= len(moments.counts) or trace > eps**2 / 3.0 * size:
        return None
    if trace == 0.0:
        return "the features have no spread at all within classes: GNC1 is 0, or below rounding"
    further = "; save float64 features to see further" if dtype.itemsize < 8 else ""
    return (
        f"the spread within classes, {trace**0.5:.1e} of the feature's length, is at the floor of "
        f"{dtype} storage: GNC1 is rounding{further}"
    )


def check_unit(norms: Iterable[float], eps: float, d: int, where: str) -> None:
    """`--normalize require`: refuse rows that are not unit to the precision of their storage.

    Args:
        norms: the smallest and the largest will do.
        eps: spacing of the stored numbers at 1.

    Raises:
        DataError: a norm is off.
    """
    allowed = 8.0 * max(eps, 1e-12) * d**0.5
    for norm in norms:
        if not abs(norm - 1.0) <= allowed:
            raise DataError(
                f"{where} has a row of norm {norm:.6g}, and --normalize require wants 1; use "
                "--normalize auto, or save unit rows"
            )
