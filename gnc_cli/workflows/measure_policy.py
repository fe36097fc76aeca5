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

__all__ = ["check_unit", "floor_warning", "policy_of", "storage_eps"]


def policy_of(
    prepared: Prepared, weights: Weights, request: Request, found: StreamedMoments | None
) -> dict[str, Any]:
    """The policy block: spaces, means, missing classes, precision, variants, chunk size."""
    own = "unit rows" if request.unit else "raw rows"
    storage = prepared.features.dtype if prepared.features is not None else None
    source = "own" if request.means_from is None else os.path.basename(request.means_from)
    sampled = found is not None
    return {
        "normalize": request.normalize,
        "spaces": {
            "gnc1": own, "gnc2": own, "gnc3": own, "ncc": own, "sample_margins": own,
            "accuracy": "logits" if prepared.logits is not None else "raw rows",
            "classic": "raw rows",
        },
        "weights": "given" if weights.given else "class means stand in",
        "class_means": {"gnc1": source, "ncc": source, "gnc3": "own"} if sampled else None,
        "between_cov": "not centred",
        "missing": request.missing,
        "classes": None if request.classes is None else os.path.basename(request.classes),
        "min_count": request.min_count,
        "classes_left_out": prepared.selection.K - prepared.K,
        "precision": {
            "storage": None if storage is None else str(storage),
            "sums": "float64",
            "decisions": "float32 products, near ties again in float64",
        },
        "variants": request.variants,
        "chunk_rows": found.block if found is not None else None,
    }  # fmt: skip


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
    return (
        f"the spread within classes, {trace**0.5:.1e} of the feature's length, is at the floor of "
        f"{dtype} storage: GNC1 is rounding; save float64 features to see further"
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
