"""Warnings of a result about numbers that may mislead, with the reason.

Each function returns the warning, or None where there is no reason for it.
"""

import math
from collections.abc import Mapping

import numpy as np

from gnc_cli.brackets import Bracket
from gnc_cli.collapse.result import NOISE_TO_COME, HeadAccuracies
from gnc_cli.geometry.rounding import spacing, stored_digits
from gnc_cli.io.loading import IGNORED_LABELS, suspicion
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.gnc1 import Gnc1
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline

MAX_OPEN_SHARE = 1e-6
"""Share of the upper end that a bracket of GNC2 may leave open without a warning."""
_MIN_NCC_ACCURACY = 0.5
"""NCC accuracy above which a trained classifier should have at least half of it: the features
separate the classes, so its rows are likely to be permuted."""
_MAX_FORM_GAIN = 0.02
"""Gain in accuracy of another form of the head above which the head is likely to have that form:
forms that differ in rounding or bias alone differ by less."""
_NOISE_FACTOR = 5.0
"""Eigenvalues of Sigma_B up to this many times the sampling noise of the class means may be noise:
the largest of several noisy eigenvalues exceeds their mean."""


def digits_warning(raw: np.ndarray) -> str | None:
    """Say that weights, shape (K, d), have the digits of a 16-bit float."""
    dtype = stored_digits(raw)
    if dtype not in ("bfloat16", "float16"):
        return None
    size = spacing(dtype)
    return (
        f"the weights have {dtype} digits: distances below 2^{math.log2(size):.0f} ({size:.1g}) "
        "are rounding"
    )


def floor_warning(moments: ClassMoments, storage: str, unit: bool) -> str | None:
    """Say that the spread within classes is no more than the rounding of the storage.

    A rounded coordinate x is off by about `eps |x| / sqrt(12)`, so unit rows of one point have a
    mean squared distance of `eps**2 / 12` from their mean; up to four times that says nothing.
    """
    eps = spacing(storage)
    trace = float(np.trace(moments.within_cov()))
    size = 1.0 if unit else float((moments.means**2).sum() / int(moments.present.sum()))
    if not eps or moments.N <= len(moments.counts) or trace > eps**2 / 3.0 * size:
        return None
    if trace == 0.0:
        return "the features have no spread at all within classes: GNC1 is 0, or below rounding"
    step = "; save float64 features to see further" if storage != "float64" else ""
    return (
        f"the spread within classes, {trace**0.5:.1e} of the feature's length, is at the floor of "
        f"{storage} storage: GNC1 is rounding{step}"
    )


def noise_warning(forms: Mapping[str, Gnc1 | None], moments: ClassMoments) -> str | None:
    """Say that GNC1 divides by the sampling noise of the class means, or would at collapse.

    Along a unit vector v the mean of n samples deviates by `v^T Sigma_W v / n` squared on average.
    Where the true class means have no component along v, this is the eigenvalue of Sigma_B there,
    and v adds n to K GNC1. K true class means that sum to 0 leave d - K + 1 such dimensions, whose
    noise is in the one eigenvalue that is added, a mean over K: v adds `n K / (d - K + 1)`.
    """
    counts = moments.counts[moments.present]
    dimensions = max(1.0, (moments.d - len(counts) + 1) / len(counts))
    noise = 1.0 / float((1.0 / counts).mean() * dimensions)
    names = [key for key, form in forms.items() if form and form.largest >= noise / _NOISE_FACTOR]
    if names:
        verb = "is" if len(names) == 1 else "are"
        return (
            f"{' and '.join(names)} {verb} dominated by noise: Sigma_B has an eigenvalue no larger "
            "than the sampling noise of the class means"
        )
    centred = forms["gnc1_centred"]
    if centred is None or len(counts) > moments.d or not centred.value:
        return None
    return (
        f"{NOISE_TO_COME} the class means have mean 0, as at the optimum for K = {len(counts)} <= "
        f"d = {moments.d}: gnc1_centred tends to 0"
    )


def coincidence_warning(weights: bool, pair: list[int], names: list[str] | None) -> str:
    """Name the two classes whose weights, or means, make GNC2 zero, by their labels."""
    a, b = (f"{k} ({names[k]})" if names else str(k) for k in pair)
    return (
        f"GNC2 is 0 as the {'weights' if weights else 'means'} of classes {a} and {b} coincide; "
        f"{spelled('duplicates', 0.999)} lists all such pairs, and GNC2 without them"
    )


def form_warning(shares: HeadAccuracies | None) -> str | None:
    """Say that another form of the head has a clearly higher accuracy than the linear one."""
    if shares is None or max(shares.cosine, shares.euclidean) <= shares.linear + _MAX_FORM_GAIN:
        return None
    best = "cosine" if shares.cosine >= shares.euclidean else "euclidean"
    return (
        f"the accuracy, {shares.linear:.2%}, is that of a linear head; a cosine head has "
        f"{shares.cosine:.2%}, a euclidean head {shares.euclidean:.2%}: name the form that the "
        f"network has, such as {spelled('head', best)}"
    )


def order_warning(
    accuracy: float | None, ncc_accuracy: float | None, shares: HeadAccuracies | None
) -> str | None:
    """Say that the features separate the classes, and the classifier does not."""
    if accuracy is None or ncc_accuracy is None or ncc_accuracy < _MIN_NCC_ACCURACY:
        return None
    if max([accuracy, *(vars(shares).values() if shares else ())]) >= ncc_accuracy / 2.0:
        return None
    return (
        f"nearest-class-mean accuracy is {ncc_accuracy:.1%}, the classifier's {accuracy:.1%}: "
        "check that the rows of the weights, or the columns of the logits, are in the order of the "
        "labels and of this network; an untrained classifier looks like this too"
    )


def width_warning(rho: Bracket | None, deadline: Deadline) -> str | None:
    """Say why the bracket of GNC2 is wide."""
    if rho is None or rho.width <= MAX_OPEN_SHARE * rho.upper or rho.upper <= MAX_OPEN_SHARE:
        return None
    if deadline.interrupted:
        return "interrupted before the bracket of GNC2 closed; it is valid, and wide"
    if deadline.expired:
        return (
            "time came before the bracket of GNC2 closed; it is valid: raise "
            f"{spelled('time_limit')}"
        )
    return "the bracket of GNC2 did not close; it is valid: please report these weights"


def label_warnings(
    labels: np.ndarray | None, ignored: tuple[str, ...], labels_only: bool
) -> list[str | None]:
    """Say that labels may not be class numbers, and how many samples are left out.

    Args:
        labels: as in the file, shape (N,); None without labels.
        ignored: labels that are left out, in addition to -1 and -100.
        labels_only: K follows from the labels only.
    """
    if labels is None:
        return []
    count, omitted = np.count_nonzero(labels < 0), None
    if count or ignored:
        *marks, last = (*IGNORED_LABELS, *ignored)
        omitted = f"{count} of {len(labels)} samples have label {', '.join(marks)} or {last}"
    return [suspicion(labels) if labels_only else None, omitted and f"{omitted}: left out"]
