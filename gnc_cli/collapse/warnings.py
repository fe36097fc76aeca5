"""Warnings of a result: what to be careful about in its numbers, and why.

Each function returns the warning, or None where there is no reason for it.
"""

import math
from collections.abc import Mapping

import numpy as np

from gnc_cli.brackets import Bracket
from gnc_cli.collapse.result import NOISE_TO_COME, HeadAccuracies
from gnc_cli.geometry.rounding import spacing, stored_digits
from gnc_cli.io.loading import IGNORED, suspicion
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.gnc1 import Gnc1
from gnc_cli.parameters import spelled
from gnc_cli.runtime.deadline import Deadline

CLOSED = 1e-6
"""Share of the upper end that a bracket of GNC2 may leave open without a warning."""
_MEANS_SEPARATE = 0.5
"""Share of samples nearest to their own class mean from which on a trained classifier should name
at least half as many right."""
_OTHER_FORM = 0.02
"""Difference of the accuracies of two forms of a head above which the head may be of the other."""
_NOISE = 5.0
"""Eigenvalues of Sigma_B up to this many times the noise of the class means may be noise."""


def digits_warning(raw: np.ndarray) -> str | None:
    """Say that weights have the digits of a 16-bit float."""
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
    further = "; save float64 features to see further" if storage != "float64" else ""
    return (
        f"the spread within classes, {trace**0.5:.1e} of the feature's length, is at the floor of "
        f"{storage} storage: GNC1 is rounding{further}"
    )


def noise_warning(forms: Mapping[str, Gnc1 | None], between: ClassMoments) -> str | None:
    """Say that GNC1 divides by the noise of the class means, or would at collapse.

    Along a unit vector v the mean of n samples is off by `v^T Sigma_W v / n` squared on average;
    that is the eigenvalue along v where the true class means have no component, and K GNC1 then
    has n from v. K true class means that sum to 0 leave d - K + 1 dimensions; the noise of all of
    these is in the one eigenvalue that is added, a mean over K: `n K / (d - K + 1)` from v.
    """
    counts = between.counts[between.present]
    dimensions = max(1.0, (between.d - len(counts) + 1) / len(counts))
    noise = 1.0 / float((1.0 / counts).mean() * dimensions)
    names = [key for key, form in forms.items() if form and form.largest >= noise / _NOISE]
    if names:
        verb = "measures" if len(names) == 1 else "measure"
        return (
            f"{' and '.join(names)} {verb} noise: an eigenvalue of Sigma_B that is kept is of the "
            "size of the noise of the class means"
        )
    centred = forms["gnc1_centred"]
    if centred is None or len(counts) > between.d or not centred.value:
        return None
    return (
        f"{NOISE_TO_COME} the class means have mean 0, as at the optimum for K = {len(counts)} <= "
        f"d = {between.d}: gnc1_centred tends to 0"
    )


def coincidence_warning(weights: bool, pair: list[int], names: list[str] | None) -> str:
    """Name the two classes whose weights, or means, make GNC2 zero, by their labels."""
    a, b = (f"{k} ({names[k]})" if names else str(k) for k in pair)
    return (
        f"GNC2 is 0 as the {'weights' if weights else 'means'} of classes {a} and {b} coincide; "
        f"{spelled('duplicates', 0.999)} lists all such pairs, and GNC2 without them"
    )


def form_warning(shares: HeadAccuracies | None) -> str | None:
    """Say that another form of the head names clearly more samples right than the linear one, by
    which the accuracy goes.
    """
    if shares is None or max(shares.cosine, shares.euclidean) <= shares.linear + _OTHER_FORM:
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
    """Say that the features tell the classes apart, and the classifier does not."""
    if accuracy is None or ncc_accuracy is None or ncc_accuracy < _MEANS_SEPARATE:
        return None
    if max([accuracy, *(vars(shares).values() if shares else ())]) >= ncc_accuracy / 2.0:
        return None
    return (
        f"the nearest class mean names the class of {ncc_accuracy:.1%} of the samples, the "
        f"classifier that of {accuracy:.1%}: are the rows of the weights, or the columns of the "
        "logits, in the order of the labels, and of this network? (So does a classifier look that "
        "is not trained.)"
    )


def width_warning(rho: Bracket | None, deadline: Deadline) -> str | None:
    """Say why the bracket of GNC2 is wide."""
    if rho is None or rho.width <= CLOSED * rho.upper or rho.upper <= CLOSED:
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
    labels: np.ndarray | None, ignored: tuple[str, ...], alone: bool
) -> list[str | None]:
    """Say that labels may be no class numbers, and how many samples are left out.

    Args:
        labels: as in the file.
        ignored: labels that are left out, besides -1 and -100.
        alone: the labels alone say what K is.
    """
    if labels is None:
        return []
    count, omitted = np.count_nonzero(labels < 0), None
    if count or ignored:
        *marks, last = (*IGNORED, *ignored)
        omitted = f"{count} of {len(labels)} samples have label {', '.join(marks)} or {last}"
    return [suspicion(labels) if alone else None, omitted and f"{omitted}: left out"]
