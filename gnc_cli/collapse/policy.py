"""What was done, as the result's `policy` says it, and what a person should be warned of."""

from collections.abc import Iterable

import numpy as np

from gnc_cli.collapse.parts import Weights
from gnc_cli.collapse.result import Policy, Precision
from gnc_cli.errors import DataError
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.parameters import spelled


def policy_of(
    weights: Weights,
    *,
    normalize: str,
    accuracy: str,
    means_from: dict[str, str] | None,
    storage: str | None,
    variants: str,
    classes: str | None = None,
    min_count: int | None = None,
    classes_left_out: int = 0,
) -> Policy:
    """What was done; `accuracy` is of `raw rows`, `logits` or `none`, `means_from` of
    `class_means`."""
    own = "raw rows" if normalize == "off" else "unit rows"
    return Policy(
        normalize=normalize,
        spaces={
            "gnc1": own, "gnc2": own, "gnc3": own, "ncc": own, "sample_margins": "unit rows",
            "accuracy": accuracy, "authors": own, "classic": "raw rows", "energies": "unit rows",
        },
        weights="given" if weights.given else "class means stand in",
        class_means=means_from,
        between_cov="not centred",
        classes=classes,
        min_count=min_count,
        classes_left_out=classes_left_out,
        precision=Precision(storage),
        variants=variants,
    )  # fmt: skip


def class_means(source: str) -> dict[str, str]:
    """Whose class means each metric takes, where `source` are those that count."""
    return {"gnc1": source, "ncc": source, "variants": source, "gnc3": "own"}


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
    """`--normalize require`: refuse norms of rows that are not 1 to the precision of storage."""
    allowed = 8.0 * max(eps, 1e-12) * d**0.5
    for norm in norms:
        if not abs(norm - 1.0) <= allowed:
            raise DataError(
                f"{where} has a row of norm {norm:.6g}, and {spelled('normalize', 'require')} "
                f"wants 1; use {spelled('normalize', 'auto')}, or save unit rows"
            )


def storage_eps(dtype: np.dtype) -> float:
    """Spacing of the stored numbers at 1; 0 for integers."""
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0
