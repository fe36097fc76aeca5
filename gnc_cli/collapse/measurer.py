"""One set of features and weights, from open files to its results.

Moments are read in one pass for all prefixes, then decisions and spectra; then each prefix is
assembled by itself. The training set, whose class means may count, and features out of distribution
are read once for several sets.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from gnc_cli.collapse.assemble import (
    assemble,
    feature_result,
    null_result,
    prefix_result,
)
from gnc_cli.collapse.conventions import Budget, Conventions, Selection
from gnc_cli.collapse.dataset import Dataset, file_stamp
from gnc_cli.collapse.metric_groups import Subject, Weights, classifier_weights, mean_weights
from gnc_cli.collapse.prepared import Prepared, cut_prefixes, prepare_dataset
from gnc_cli.collapse.reference import gnc2_reference
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.collapse.sources import Source, resolve_features
from gnc_cli.collapse.statistics import (
    Moments,
    Statistics,
    read_moments,
    read_spectrum,
    read_statistics,
)
from gnc_cli.collapse.training_means import TrainingMeans
from gnc_cli.collapse.warnings import label_warnings, width_warning
from gnc_cli.errors import DataError
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.gnc2 import EVERY_CLASS
from gnc_cli.metrics.rows import ZeroRowsError
from gnc_cli.metrics.spectrum import ALL_ROWS
from gnc_cli.parameters import requires, spelled
from gnc_cli.runtime.distributed import Processes
from gnc_cli.runtime.memory import check_memory
from gnc_cli.runtime.threads import limit_threads, threads_for


class Measurer:
    """Measures sets one after the other by the same conventions; keeps what they share."""

    def __init__(
        self,
        selection: Selection,
        conventions: Conventions,
        budget: Budget,
        processes: Processes,
    ) -> None:
        self.selection, self.conventions = selection, conventions
        self.budget, self.processes = budget, processes
        ood = conventions.ood
        self.ood = None if ood is None else resolve_features(ood, selection.transpose_features)
        self._train = TrainingMeans(selection, conventions, budget, processes)
        self._ood_moments: list[ClassMoments] = []
        self._reference = cache(
            lambda d, K: gnc2_reference(
                d, K, conventions.reference, budget.deadline(), conventions.table
            )
        )

    @property
    def ood_name(self) -> str | None:
        """Name of the features of `--ood` in results."""
        return None if self.ood is None else self.ood.file

    def stamp(self, source: Source) -> str:
        """Return a text that changes when the set does, or a file that its numbers depend on."""
        files = map(file_stamp, self.conventions.files)
        ood = "" if self.ood is None else self.ood.stamp()
        return "|".join([source.stamp(), self._train.stamp(source), ood, *files])

    def measure(self, samples: Dataset, source: Source) -> list[MeasureResult]:
        """Return the result of one open set; with `--prefix-dims` those of its prefixes.

        Raises:
            DataError, UsageError: the set cannot be measured.
            TimeoutError: interrupted before the samples were read.
        """
        if samples.features is not None and not {"labels", "weights", "logits"} & {*samples.where}:
            return self._unlabelled(samples, source)
        least = 0
        if samples.weights is None and samples.logits is None:
            least = self._train.classes(self._train.training_set(source))
        whole = prepare_dataset(samples, self.selection, self.conventions, least)
        parts = cut_prefixes(whole, self.conventions.prefix_dims)
        _check_memory(parts, self.conventions)
        if samples.features is None:
            unused = self.conventions.given.get("samples", ())
            _refuse(unused, "samples, and there are only weights")
        return self._measured(samples, whole, parts, source)

    def _measured(
        self, samples: Dataset, whole: Prepared, parts: list[Prepared], source: Source
    ) -> list[MeasureResult]:
        """Return the results of the prefixes of a set: null where rows are zero in so few
        dimensions.
        """
        left_out = whole.K_in_file - whole.K
        subject = Subject(whole.kept, whole.names, left_out, _place(source), source.head)
        statistics = [Statistics() for _ in parts]
        try:
            # Weights that cannot be used are refused before hours are spent on the features.
            heads = [self._head(part) for part in parts]
            if whole.features is not None:
                statistics = self._statistics(whole, parts, source)
        except ZeroRowsError as error:
            # Rows of zeros in p dimensions are so in fewer: the shortest prefix fails first.
            if len(parts) == 1:
                raise
            null = self._null(parts[0], whole, subject, error)
            return [null, *self._measured(samples, whole, parts[1:], source)]
        reach, warnings = self._reach(samples, whole), self._set_warnings(samples, whole, source)
        results = []
        for part, head, known in zip(parts, heads, statistics, strict=True):
            result = self._result(known, head, subject, warnings, whole.d)
            late = result.cut_short or reach.get("cut_short", False)
            notes = part.notes + result.notes + reach.get("notes", ())
            results.append(replace(result, **reach | {"notes": notes, "cut_short": late}))
        return results

    def _head(self, part: Prepared) -> Weights | None:
        """Return the classifier; None where the class means stand in."""
        if part.weights is None:
            return None
        name, unit = part.where["weights"], self.conventions.unit
        return classifier_weights(part.weights, unit=unit, labels=part.kept, name=name)

    def _statistics(
        self, whole: Prepared, parts: Sequence[Prepared], source: Source
    ) -> list[Statistics]:
        """Return the statistics of the prefixes, each read in one pass for all."""
        conventions, reading = self.conventions, (self.budget, self.processes)
        oods = self._out_of_distribution(whole.d, len(parts))
        training = self._train.training_set(source)
        train = self._train.moments(training, whole, [part.d for part in parts])
        spaces = conventions.spaces(parts[0].d, whole.K)
        own = read_moments(parts, *reading, spaces, train)
        name = self._train.name(training)
        moments = [
            Moments(by_space, None if train is None else train[index], name)
            for index, by_space in enumerate(own)
        ]
        statistics = read_statistics(parts, moments, conventions, *reading)
        return [
            replace(each, ood=ood, ood_name=self.ood_name)
            for each, ood in zip(statistics, oods, strict=True)
        ]

    def _result(
        self,
        statistics: Statistics,
        head: Weights | None,
        subject: Subject,
        set_warnings: Sequence[str | None],
        whole: int,
    ) -> MeasureResult:
        """Return the result of one set, or of a prefix of `whole` dimensions, from what its samples
        say.
        """
        conventions, deadline = self.conventions, self.budget.deadline()
        if head is None:
            assert statistics.moments is not None
            head = mean_weights(statistics.moments.gnc, unit=conventions.unit)
        K, d = head.rows.shape
        with limit_threads(threads_for(2.0 * K * K * d, self.budget.threads)):
            result = assemble(
                conventions,
                statistics,
                head,
                subject,
                reference=self._reference(d, K) if conventions.unit else None,
                device=self.budget.device,
                deadline=deadline,
            )
        wide = width_warning(result.gnc2, deadline)
        warnings = (*result.warnings, *(text for text in (wide, *set_warnings) if text is not None))
        late = deadline.expired and (bool(result.undecided) or wide is not None)
        result = replace(result, warnings=warnings, cut_short=late)
        if conventions.prefix_dims is None:
            return result
        return prefix_result(result, whole, K, conventions)

    def _reach(self, samples: Dataset, whole: Prepared) -> dict[str, Any]:
        """Return the fields of the result that `--reach` and `--sets` ask for, before GNC2."""
        conventions, budget = self.conventions, self.budget
        if not self.selection.proves:
            return {}
        from gnc_cli.collapse.reach import reach_of

        limit = budget.deadline()
        threads = threads_for(2.0 * whole.K_in_file**2 * whole.d, budget.threads)
        with limit_threads(threads):
            fields = reach_of(conventions, samples, whole, limit, threads, budget.progress)
        return fields | {"cut_short": limit.expired}

    def _set_warnings(self, samples: Dataset, whole: Prepared, source: Source) -> list[str | None]:
        """Return warnings about the set as a whole: its training set and its labels."""
        alone = samples.weights is None and samples.logits is None and samples.names is None
        texts = label_warnings(samples.labels, self.selection.ignore_label, alone)
        if whole.features is None:
            return texts
        doubt = None
        if whole.weights is None and self.conventions.K is None:
            doubt = self._train.label_warning(self._train.training_set(source))
        return [self._train.own_means_warning(source), *texts, doubt]

    def _null(
        self, part: Prepared, whole: Prepared, subject: Subject, error: ZeroRowsError
    ) -> MeasureResult:
        """Return the result of a prefix in which rows are zero."""
        N = None if whole.labels is None else int((whole.labels >= 0).sum())
        result, warning = null_result(part, N, subject), f"all metrics are null: {error}"
        policy = replace(
            result.policy,
            normalize="auto" if self.conventions.unit else "off",
            weights="none" if whole.weights is None else "given",
            min_count=self.conventions.min_count,
            classes_left_out=subject.classes_left_out,
        )
        return replace(result, prefix_of=whole.d, policy=policy, warnings=(warning,))

    def _unlabelled(self, samples: Dataset, source: Source) -> list[MeasureResult]:
        """Return the result of features without labels, weights and logits; with `--prefix-dims`
        those of its prefixes, each read by itself.
        """
        conventions = self.conventions
        _refuse(
            conventions.given.get("labels", ()),
            f"labels, and {samples.where['features']} has none",
            f"drop it, or add {spelled('labels', 'F:KEY')}",
        )
        assert samples.features is not None
        whole, (N, d) = _one_class(samples), samples.features.shape
        check_memory(
            64.0 * d**2 + 32.0 * min(N, ALL_ROWS) * d,
            f"measuring features in d={d}",
            f"give the first dimensions alone: {spelled('prefix_dims', min(d, 1024))}",
        )
        place = _place(source) | {"prefix_of": d if conventions.prefix_dims else None}
        subject = Subject(whole.kept, place=place)
        return [
            feature_result(
                *read_spectrum(part, self.budget, self.processes, conventions.seed), part, subject
            )
            for part in cut_prefixes(whole, conventions.prefix_dims)
        ]

    def _out_of_distribution(self, d: int, count: int) -> Sequence[ClassMoments | None]:
        """Return moments of all raw rows of `--ood` as one class, read once, of the last `count`
        prefixes; None without it.

        Raises:
            DataError: they are not of dimension d, or one is not finite.
        """
        if self.ood is None:
            return [None] * count
        if not self._ood_moments:
            with self.ood.open() as samples:
                parts = cut_prefixes(whole := _one_class(samples), self.conventions.prefix_dims)
                read = read_moments(parts, self.budget, self.processes, ("raw",))
                self._ood_moments, self._ood_d = [each["raw"] for each in read], whole.d
        if self._ood_d != d:
            raise DataError(
                f"{spelled('ood')}: features of dimension {self._ood_d}, and those "
                f"measured have {d}; give features of the same layer"
            )
        return self._ood_moments[-count:]


def _one_class(samples: Dataset) -> Prepared:
    """Return features as those of one class."""
    assert samples.features is not None
    N, d = samples.features.shape
    zeros = np.broadcast_to(np.zeros(1, dtype=np.int64), N)
    one_class = {**vars(samples), "labels": zeros}
    return Prepared(**one_class, kept=zeros[:1], K_in_file=1, d=d)


def _check_memory(parts: list[Prepared], conventions: Conventions) -> None:
    """Refuse classes and dimensions whose float64 sums, covariances and rows cannot fit."""
    samples = parts[-1]
    d, K, rows, spaces = samples.d, samples.K, samples.K, 0
    if samples.labels is not None:
        spaces = len(conventions.spaces(parts[0].d, K))
        rows = K if samples.weights is not None else min(K, len(samples.labels))
    copies = 60.0 if conventions.every_class or rows <= EVERY_CLASS else 28.0
    sums = sum(16.0 * (K + rows) * part.d + 40.0 * part.d**2 for part in parts)
    check_memory(
        spaces * sums + copies * rows * d + 80.0 * K,
        f"measuring K={K} classes in d={d}",
        f"leave classes out with {spelled('min_count')} or {spelled('classes', 'FILE')}",
    )


def _refuse(names: Iterable[str], condition: str, step: str | None = None) -> None:
    """Refuse options that require `condition`; the next step is to drop them, or `step`."""
    for name in names:
        raise requires(name, condition, step or f"drop {spelled(name)}")


def _place(source: Source) -> dict[str, Any]:
    """Return the fields of the result that say where the numbers are from."""
    attrs = {name: value for name, value in source.attrs.items() if name != "provenance"}
    place = {name: attrs.pop(name, None) for name in ("epoch", "step", "layer", "split")}
    return {"file": source.file, "snapshot": source.snapshot, **place, "attrs": attrs}
