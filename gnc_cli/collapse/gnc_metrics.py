"""Collapse metrics of the batches of a training loop, as one `MeasureResult`.

The methods are `update`, `compute`, `reset`, `merge_state` and `sync`, as in torchmetrics, which is
not needed, nor is torch: tensors of any device are taken as they come, arrays and lists too.
"""

import time
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import Annotated, Any

import numpy as np

from gnc_cli.collapse.assemble import assemble
from gnc_cli.collapse.batches import (
    Accumulated,
    checked_labels,
    joined,
    on_cuda,
    raw_weights,
)
from gnc_cli.collapse.conventions import OWN_MEANS, Conventions, Variants
from gnc_cli.collapse.metric_groups import Subject, classifier_weights, mean_weights
from gnc_cli.collapse.reference import gnc2_reference
from gnc_cli.collapse.result import Gnc2Reference, MeasureResult
from gnc_cli.collapse.statistics import Moments, Statistics
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.arguments import validated
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.decisions import stream_decisions
from gnc_cli.metrics.rows import ArrayRows, Pass, to_numpy
from gnc_cli.parameters import (
    MOST_CLASSES,
    MOST_DIMENSIONS,
    MOST_THREADS,
    Parameter,
    one_of,
    real,
    whole,
)
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import Processes
from gnc_cli.runtime.memory import check_memory
from gnc_cli.runtime.threads import limit_threads, threads_for

__all__ = ["GNCMetrics"]


class GNCMetrics:
    """GNC1, GNC2 (certified), GNC3, accuracy and nearest-class-mean accuracy of batches.

    All counts are micro: each sample counts once, whatever batch it came in. Put the network in
    eval mode yourself. Memory: two (K, d) float64 arrays and one (d, d), on the CPU, for unit rows
    and again for raw ones; as much again while it computes.

    Args:
        d: dimension of the features.
        K: number of classes; labels run from 0 to K - 1.
        normalize: GNC metrics and NCC of unit rows, as in the paper; False takes rows as they are.
        variants: `none` or `classic`, as in `measure`.
        reference: distance that GNC2 is compared with; by default the best known for (d, K).

    Raises:
        UsageError: d or K below 2, or no such variants.

    Example:
        >>> metrics = GNCMetrics(d=2, K=2)
        >>> metrics.update([[2.0, 0.0], [1.0, 0.0], [0.0, 3.0]], [0, 0, 1])
        >>> result = metrics.compute(weights=[[1.0, 0.0], [0.0, 1.0]])
        >>> result.gnc1, result.gnc3, round(result.gnc2.lower, 12)
        (0.0, 0.0, 1.414213562373)
    """

    @validated
    def __init__(
        self,
        d: Annotated[int, Parameter("Dimension of the features.", whole(2, MOST_DIMENSIONS))],
        K: Annotated[int, Parameter("Number of classes.", whole(2, MOST_CLASSES))],
        *,
        normalize: Annotated[bool, Parameter("Of unit rows.")] = True,
        variants: Annotated[str, Parameter("Further metrics.", one_of(Variants))] = "none",
        reference: Annotated[
            float | None,
            Parameter("Distance that GNC2 is compared with.", real(greater_than=0.0, maximum=2.0)),
        ] = None,
    ) -> None:
        self.d, self.K, self.normalize = d, K, normalize
        self._conventions = Conventions(
            unit=normalize, classic=variants == Variants.CLASSIC, reference=reference
        )
        self._references: dict[int, Gnc2Reference | None] = {}
        self.spaces = self._conventions.spaces(d, K)
        check_memory(
            len(self.spaces) * (32.0 * K * d + 40.0 * d * d),
            f"moments of K={K} classes in d={d}",
            "take fewer of either",
        )
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        moments = {space: ClassMoments(self.d, self.K) for space in self.spaces}
        zeros = np.zeros(self.K, dtype=np.int64)
        self._replace_samples(Accumulated(moments, zeros, zeros))
        self._decided_by = "raw rows"
        """Rows and bias by which weights decide the accuracy."""

    def _replace_samples(self, part: Accumulated) -> None:
        """Replace the samples of this process by `part`.

        The class means change, so earlier decisions and joined samples are discarded.
        """
        self._part = part.without_second_pass()
        self._joined: Accumulated | None = None

    # Batches ------------------------------------------------------------------------------------

    def update(self, features: Any, labels: Any, logits: Any = None, *, workers: int = 1) -> None:
        """Take in a batch.

        Args:
            features: raw, any floating dtype and device, shape (n, d); gradients are not followed.
            labels: integers, shape (n,); samples of label -1 or -100 are left out.
            logits: shape (n, K), for the accuracy.
            workers: threads, of use for thousands of rows; the answer does not depend on them. With
                several, hold BLAS to one (`limit_threads(1)`).

        Raises:
            DataError: shapes disagree, a label is out of range, a row is not finite, or zero where
                it must be scaled. Nothing of the batch is then added.
        """
        if self._part.update(features, labels, logits, workers):
            self._replace_samples(self._part)

    @validated
    def judge(
        self,
        features: Any,
        labels: Any,
        weights: Any = None,
        bias: Any = None,
        *,
        own: Annotated[bool, Parameter("The batches of the first pass again.")] = True,
        workers: Annotated[int, Parameter("Threads.", whole(1, MOST_THREADS))] = 1,
    ) -> None:
        """Add a batch of the second pass, which decides by the class means of the first.

        The second pass gives NCC accuracy (also leave-one-out) and, with weights, accuracy,
        agreement and sample margins. It must see each sample of the first pass once. Between the
        passes no batch may be added; several processes call `sync` before and after it.

        Args:
            features: as for `update`.
            labels: as for `update`.
            weights: the classifier, raw, shape (K, d); weights on a GPU are decided on it.
            bias: shape (K,).
            own: the batches are those of the first pass again; False for other data, such as test
                data by the means of the training set: then no sample is left out of a mean.
            workers: threads; with several, hold BLAS to one (`limit_threads(1)`).

        Raises:
            DataError: as `update`; or there was no first pass.
        """
        state = self.accumulated()
        if not state.gnc.N:
            raise DataError("judge() needs class means: update() with all batches first")
        rows = to_numpy(features, "features")
        classes = checked_labels(labels, rows.shape, self.d, self.K)
        raw = None if weights is None else raw_weights(weights, self.K, self.d)
        offset = None if bias is None else to_numpy(bias, "bias").astype(np.float64)
        if offset is not None and offset.shape != (self.K,):
            raise DataError(f"the bias has shape {offset.shape}; expected ({self.K},)")
        self._decided_by = "raw rows, no bias" if bias is None else "raw rows"
        judge = Moments(state.moments).judge(
            unit=self.normalize,
            answered=raw is not None,
            own_means=own,
            weights=raw,
            bias=offset,
            device=str(weights.device) if on_cuda(weights) else None,
        )
        decisions = stream_decisions(
            ArrayRows(rows), classes, judge, name="the batch", reading=Pass(workers=workers)
        )
        self._part = replace(
            self._part,
            second_pass=joined(self._part.second_pass, decisions),
            sample_counts=self._part.sample_counts | {state.gnc.N},
            own_samples=self._part.own_samples and own,
        )
        if self._joined is not None:
            self._joined = self._joined.without_second_pass()

    # Merging ------------------------------------------------------------------------------------

    def merge(self, other: "GNCMetrics") -> None:
        """Add the batches of `other`; a second pass comes after it.

        Raises:
            UsageError: `other` was made with other arguments, or is this object.
        """
        if other is self:
            raise UsageError("GNCMetrics cannot join itself: each sample would count twice")
        shape = (self.d, self.K, self.spaces)
        other_shape = (other.d, other.K, other.spaces)
        if shape != other_shape:
            raise UsageError(f"GNCMetrics of (d, K, spaces) = {other_shape} cannot join {shape}")
        self.add(other._part)

    def add(self, part: Accumulated) -> None:
        """Add statistics of other samples, for the same d, K and spaces."""
        self._replace_samples(self._part.joined(part))

    def merge_state(self, metrics: Iterable["GNCMetrics"]) -> None:
        """Add the batches of each of the metrics, in order.

        Raises:
            UsageError: one was made with other arguments.
        """
        for other in metrics:
            self.merge(other)

    def sync(self) -> None:
        """Join the batches of all processes, with the same result in each; every process calls it.

        The batches of this process are kept separately, so that no sample counts twice: call it any
        number of times, after the last `update` and again after the last `judge`. A single process
        needs no torch.distributed.
        """
        with Processes.current() as processes:
            if processes.size == 1:
                return
            whole = reduce(Accumulated.joined, processes.exchange(self._part))
        if whole.stale:
            # Every process discards its decisions, so that all can judge again.
            self._part = self._part.without_second_pass()
        self._joined = whole

    def accumulated(self) -> Accumulated:
        """Return the statistics of this process, or after `sync` of all."""
        return self._part if self._joined is None else self._joined

    # Answers ------------------------------------------------------------------------------------

    def class_means(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the class means of the features so far, of unit rows unless `normalize` is False.

        Returns:
            Means, shape (K, d), float64, zero where a class has no sample; and a mask of the
            classes that have one, shape (K,), bool.
        """
        moments = self.accumulated().gnc
        return moments.means, moments.present

    @validated
    def compute(
        self,
        weights: Any = None,
        *,
        detail: Annotated[bool, Parameter("Also quantiles and rattlers.")] = False,
        time_limit: Annotated[float | None, Parameter("Seconds.", real(greater_than=0.0))] = None,
        deadline: Deadline | None = None,
    ) -> MeasureResult:
        """Return the metrics of all batches so far; batches may be added afterwards.

        Args:
            weights: the classifier, shape (K, d); without it the class means stand in for GNC2,
                and there is no GNC3.
            detail: also quantiles and rattlers, as in the result of `measure`.
            time_limit: seconds for GNC2; its bracket is valid whenever time runs out.
            deadline: a second limit for GNC2, which may be interrupted; the earlier one counts.

        Returns:
            A frozen record; `.flat()` for dashboards, `.to_json()`. Accuracy is None without
            logits or `judge`; NCC, agreement and sample margins without `judge`.

        Raises:
            DataError: no batch was added, or the weights cannot be used.
            UsageError: `sync` is missing after `judge`; the second pass saw a part of the samples,
                or some twice; or a process added more samples after it.
        """
        started = time.monotonic()
        if time_limit is not None:
            deadline = (Deadline() if deadline is None else deadline).limited(time_limit)
        state = self.accumulated()
        moments = state.gnc
        if not moments.N:
            raise DataError("there is nothing to compute: update() with features and labels first")
        if self._part.second_pass is not None and state.second_pass is None:
            raise UsageError("judge() came after sync(): call sync() again before compute()")
        state.check_second_pass()
        labels = np.arange(self.K)
        if weights is None:
            rows = mean_weights(moments, unit=self.normalize)
        else:
            raw = raw_weights(weights, self.K, self.d)
            rows = classifier_weights(raw, unit=self.normalize, labels=labels, name="weights")
        by_weights = state.second_pass is not None and state.second_pass.right is not None
        by_logits = "logits" if state.answered.any() else "none"
        statistics = Statistics(
            Moments(state.moments),
            state.decisions,
            self._decided_by if by_weights else by_logits,
            judged_by=OWN_MEANS if state.own_samples else "other",
            storage=state.storage,
        )
        device = str(weights.device) if on_cuda(weights) else "cpu"
        m = len(rows.rows)
        with limit_threads(threads_for(2.0 * m * m * self.d)):
            result = assemble(
                self._conventions,
                statistics,
                rows,
                Subject(labels, started=started),
                reference=self._reference(m),
                detail=detail,
                device=device,
                deadline=deadline,
            )
        if result.accuracy is None and by_logits == "logits":
            # A second pass without weights does not decide by the classifier; the logits do.
            accuracy = int(state.right.sum()) / int(state.answered.sum())
            result = replace(result, accuracy=accuracy)
        return result

    def _reference(self, K: int) -> Gnc2Reference | None:
        if not self.normalize:
            return None
        if K not in self._references:
            self._references[K] = gnc2_reference(self.d, K, self._conventions.reference)
        return self._references[K]
