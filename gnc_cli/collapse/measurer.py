"""One set of features and weights, from open files to a result; other data beside it: the training
set, whose class means count, and what is out of distribution.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from gnc_cli.brackets import Bracket
from gnc_cli.collapse.assemble import (
    Weights,
    assemble,
    assemble_features,
    assemble_null,
    classifier_weights,
    mean_weights,
    of_prefix,
)
from gnc_cli.collapse.conventions import OWN, Budget, Conventions, Selection
from gnc_cli.collapse.reference import gnc2_reference
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.collapse.samples import (
    Prepared,
    Samples,
    cut_samples,
    file_stamp,
    number_of_classes,
    prepare_samples,
)
from gnc_cli.collapse.sources import TRAINING, Source, resolve, resolve_features
from gnc_cli.collapse.statistics import Statistics, read_moments, read_spectrum, read_statistics
from gnc_cli.errors import DataError
from gnc_cli.io.inputs import short_name
from gnc_cli.io.loading import IGNORED, suspicion
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.gnc2 import EVERY_CLASS
from gnc_cli.metrics.rows import ZeroRowsError
from gnc_cli.metrics.spectrum import ALL_ROWS
from gnc_cli.parameters import requires, spelled
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import Processes
from gnc_cli.runtime.memory import check_memory
from gnc_cli.runtime.threads import limit_threads, threads_for

_CLOSED = 1e-6
"""Share of the upper end that a bracket of GNC2 may leave open without a word."""


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
        self._train = _TrainingMeans(selection, conventions, budget, processes)
        self._ood_moments: list[ClassMoments] | None = None
        self._reference = cache(
            lambda d, K: gnc2_reference(
                d, K, conventions.reference, budget.deadline(), conventions.table
            )
        )

    @property
    def ood_name(self) -> str | None:
        """What results call the features of `--ood`."""
        return None if self.ood is None else self.ood.file

    def stamp(self, source: Source) -> str:
        """Changes when the set does, or a file beside it that the numbers depend on."""
        files = map(file_stamp, self.conventions.files)
        ood = "" if self.ood is None else self.ood.stamp()
        return "|".join([source.stamp(), self._train.stamp(source), ood, *files])

    def measure(self, samples: Samples, source: Source) -> list[MeasureResult]:
        """The result of one open set; with `--prefix-dims` those of its prefixes.

        Raises:
            DataError, UsageError: the set cannot be measured.
            TimeoutError: interrupted before the samples were read.
        """
        if samples.features is not None and not {"labels", "weights", "logits"} & {*samples.where}:
            return self._unlabelled(samples, source)
        least = 0
        if samples.weights is None and samples.logits is None:
            least = self._train.classes(self._train.of(source))
        prepared = prepare_samples(samples, self.selection, self.conventions, least)
        parts = cut_samples(prepared, self.conventions.prefix_dims)
        _check_memory(parts, self.conventions)
        null: list[MeasureResult] = []
        while True:
            started = time.monotonic()
            try:
                rows = [*null, *self._measure(samples, prepared, parts, source, started)]
                return [replace(row, notes=parts[-1].notes + row.notes) for row in rows]
            except ZeroRowsError as error:
                # Rows of zeros in p dimensions are so in fewer: the shortest prefix fails first.
                if len(parts) == 1:
                    raise
                N = None if prepared.labels is None else int((prepared.labels >= 0).sum())
                row = assemble_null(parts[0], N, _place(source), started)
                reason = f"all metrics are null: {error}"
                policy = replace(
                    row.policy,
                    normalize="auto" if self.conventions.unit else "off",
                    weights="none" if prepared.weights is None else "given",
                    min_count=self.conventions.min_count,
                    classes_left_out=prepared.K_in_file - prepared.K,
                )
                null.append(replace(row, prefix_of=prepared.d, policy=policy, warnings=(reason,)))
                parts = parts[1:]

    def _measure(
        self,
        samples: Samples,
        prepared: Prepared,
        parts: list[Prepared],
        source: Source,
        started: float,
    ) -> list[MeasureResult]:
        """The result of each part; arguments and errors as in `measure`, and ZeroRowsError."""
        conventions, budget = self.conventions, self.budget
        # Weights that cannot be used are refused before hours are spent on the features.
        heads = [
            None
            if part.weights is None
            else classifier_weights(
                part.weights, unit=conventions.unit, labels=part.kept, where=part.where["weights"]
            )
            for part in parts
        ]
        statistics = [Statistics() for _ in parts]
        if prepared.features is not None:
            oods = self._out_of_distribution(prepared.d, len(parts))
            training = self._train.of(source)
            read = read_statistics(
                parts,
                conventions,
                budget,
                self.processes,
                self._train.moments(training, prepared, [part.d for part in parts]),
                self._train.name(training),
            )
            statistics = [
                replace(each, ood=ood, ood_name=self.ood_name)
                for each, ood in zip(read, oods, strict=True)
            ]
        else:
            _refuse(conventions.given.get("samples", ()), "samples, and there are only weights")
        reach: dict[str, Any] = {}
        late = False
        if self.selection.proves:  # asked for by name: before GNC2
            from gnc_cli.collapse.reach import reach_of

            limit, work = budget.deadline(), 2.0 * prepared.K_in_file**2 * prepared.d
            threads = threads_for(work, budget.threads)
            with limit_threads(threads):
                reach = reach_of(conventions, samples, prepared, limit, threads, budget.progress)
            late = limit.expired
        rows = []
        for part, weights, of_part in zip(parts, heads, statistics, strict=True):
            if weights is None:
                assert of_part.moments is not None
                weights = mean_weights(of_part.moments, unit=conventions.unit)
            about = _about_labels(samples, self.selection.ignore_label)
            row = self._row(part, of_part, weights, source, about, started)
            if conventions.prefix_dims is not None:
                row = of_prefix(row, prepared.d, len(weights.rows), conventions)
            rows.append(replace(row, **reach, cut_short=row.cut_short or late))
        return rows

    def _unlabelled(self, samples: Samples, source: Source) -> list[MeasureResult]:
        """Return the result of features without labels, weights and logits; with `--prefix-dims`
        those of its prefixes, each read by itself."""
        started, conventions = time.monotonic(), self.conventions
        _refuse(
            conventions.given.get("labels", ()),
            f"labels, and {samples.where['features']} has none",
            f"drop it, or add {spelled('labels', 'F:KEY')}",
        )
        whole, (N, d) = _of_one_class(samples)
        check_memory(
            64.0 * d**2 + 32.0 * min(N, ALL_ROWS) * d,
            f"measuring features in d={d}",
            f"give the first dimensions alone: {spelled('prefix_dims', min(d, 1024))}",
        )
        place = _place(source) | {"prefix_of": d if conventions.prefix_dims else None}
        return [
            assemble_features(
                *read_spectrum(part, self.budget, self.processes, conventions.seed),
                part,
                place,
                started,
            )
            for part in cut_samples(whole, conventions.prefix_dims)
        ]

    def _row(
        self,
        prepared: Prepared,
        statistics: Statistics,
        weights: Weights,
        source: Source,
        about: list[str | None],
        started: float,
    ) -> MeasureResult:
        """The result of one set, or of a prefix, from what its samples said; `about` its labels."""
        conventions, budget = self.conventions, self.budget
        deadline, (K, d) = budget.deadline(), weights.rows.shape
        with limit_threads(threads_for(2.0 * K * K * d, budget.threads)):
            result = assemble(
                conventions,
                statistics,
                weights,
                labels=prepared.kept,
                left_out=prepared.K_in_file - prepared.K,
                names=prepared.names,
                reference=self._reference(d, K) if conventions.unit else None,
                place=_place(source),
                head=source.head,
                device=budget.device,
                deadline=deadline,
                started=started,
            )
        wide = _open_bracket(result.gnc2, deadline)
        lacking = doubt = None
        if prepared.features is not None:
            lacking = self._train.lacking(source)
            if prepared.weights is None and conventions.K is None:
                doubt = self._train.doubt(self._train.of(source))
        texts = [text for text in (wide, lacking, *about, doubt) if text is not None]
        return replace(
            result,
            warnings=(*result.warnings, *texts),
            cut_short=deadline.expired and (bool(result.undecided) or wide is not None),
        )

    def _out_of_distribution(self, d: int, count: int) -> Sequence[ClassMoments | None]:
        """Moments of all raw rows of `--ood` as one class, read once, of the last `count` prefixes;
        None without it.

        Raises:
            DataError: they are not of dimension d, or one is not finite.
        """
        if self.ood is None:
            return [None] * count
        if self._ood_moments is None:
            with self.ood.open() as samples:
                whole, (_, self._ood_d) = _of_one_class(samples)
                parts = cut_samples(whole, self.conventions.prefix_dims)
                read = read_moments(parts, self.budget, self.processes, ("raw",))
                self._ood_moments = [each["raw"] for each in read]
        if self._ood_d != d:
            raise DataError(
                f"{spelled('ood')}: features of dimension {self._ood_d}, and those "
                f"measured have {d}; give features of the same layer"
            )
        return self._ood_moments[-count:]


def _of_one_class(samples: Samples) -> tuple[Prepared, tuple[int, int]]:
    """Features (N, d) as those of one class, and their shape."""
    assert samples.features is not None
    N, d = samples.features.shape
    zeros = np.broadcast_to(np.zeros(1, dtype=np.int64), N)
    one_class = {**vars(samples), "labels": zeros}
    return Prepared(**one_class, kept=zeros[:1], K_in_file=1, d=d), (N, d)


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
    """Refuse options that mean nothing without `condition`; the next step is to drop them, or
    `step`."""
    for name in names:
        raise requires(name, condition, step or f"drop {spelled(name)}")


def _about_labels(samples: Samples, ignored: tuple[str, ...]) -> list[str | None]:
    """Warnings about labels that may not be meant so, and of samples that are left out."""
    if samples.labels is None:
        return []
    alone = samples.weights is samples.logits is samples.names is None
    missing, left = np.count_nonzero(samples.labels < 0), None
    if missing or ignored:
        *marks, last = (*IGNORED, *ignored)
        left = (
            f"{missing} of {len(samples.labels)} samples have label {', '.join(marks)} or {last}: "
            "left out"
        )
    return [suspicion(samples.labels) if alone else None, left]


def _place(source: Source) -> dict[str, Any]:
    """Where the numbers are from, as the result has it."""
    attrs = {name: value for name, value in source.attrs.items() if name != "provenance"}
    place = {name: attrs.pop(name, None) for name in ("epoch", "step", "layer", "split")}
    return {"file": source.file, "snapshot": source.snapshot, **place, "attrs": attrs}


def _open_bracket(rho: Bracket | None, deadline: Deadline) -> str | None:
    """Why the bracket of GNC2 is wide, if it is."""
    if rho is None or rho.width <= _CLOSED * rho.upper or rho.upper <= _CLOSED:
        return None
    if deadline.interrupted:
        return "interrupted before the bracket of GNC2 closed; it is valid, and wide"
    if deadline.expired:
        return (
            "time came before the bracket of GNC2 closed; it is valid: raise "
            f"{spelled('time_limit')}"
        )
    return "the bracket of GNC2 did not close; it is valid: please report these weights"


class _TrainingMeans:
    """Whose class means count: those of `--means-from FILE`, else of the training split of the same
    moment of a run, else the set's own. A training set is read once where rows share it."""

    def __init__(
        self,
        selection: Selection,
        conventions: Conventions,
        budget: Budget,
        processes: Processes,
    ) -> None:
        self._selection, self._conventions = selection, conventions
        self._budget, self._processes = budget, processes
        self._last: tuple[Any, list[dict[str, ClassMoments]]] | None = None
        self._counted: tuple[Source, int, str | None] | None = None
        self._sources: list[Source] = []
        if conventions.means_from not in (None, OWN):
            self._sources = resolve(
                Selection(
                    files=(str(conventions.means_from),),
                    transpose_features=selection.transpose_features,
                    labels_are=selection.labels_are,
                    ignore_label=selection.ignore_label,
                    class_names=selection.class_names,
                )
            )

    def stamp(self, source: Source) -> str:
        """Changes when the training set does."""
        sources = [*self._sources, *([source.training] if source.training else [])]
        return ",".join(each.stamp() for each in sources)

    def of(self, source: Source) -> Source | None:
        """The training set that belongs to `source`, of several snapshots that of the same epoch;
        None where its own means count."""
        if self._sources:
            return self._matching(source)
        return None if self._conventions.means_from == OWN else source.training

    def classes(self, training: Source | None) -> int:
        """Return the number of classes of a training set; 0 where there is none."""
        if training is None:
            return 0
        if self._counted is None or self._counted[0] is not training:
            with training.open() as samples:
                doubt = None
                if samples.labels is not None and samples.names is None:
                    doubt = suspicion(samples.labels)
                K = number_of_classes(samples, samples.labels, None)
                self._counted = training, K, doubt and f"{self.name(training)}: {doubt}"
        return self._counted[1]

    def doubt(self, training: Source | None) -> str | None:
        """A warning about the labels of a training set, where these say what K is."""
        self.classes(training)
        return self._counted[2] if training is not None and self._counted else None

    def name(self, training: Source | None) -> str:
        """What messages and the policy call it."""
        if training is None:
            return OWN
        named = self._conventions.means_from
        return f"split {TRAINING}" if named is None else short_name(named)

    def lacking(self, source: Source) -> str | None:
        """A warning where a snapshot of test data goes by its own class means, unasked."""
        split = source.attrs.get("split", TRAINING)
        named = self._conventions.means_from is not None
        if named or source.snapshot is None or split == TRAINING or source.training is not None:
            return None
        return (
            f"split {split} goes by its own class means, as there is no snapshot of split "
            f"{TRAINING} beside it; name the training set with {spelled('means_from', 'FILE')}"
        )

    def moments(
        self, training: Source | None, prepared: Prepared, dims: list[int]
    ) -> list[dict[str, ClassMoments]] | None:
        """Moments of the training rows, over the classes of the set that is measured, by prefix of
        `dims` dimensions."""
        if training is None:
            return None
        key = training, prepared.K_in_file, prepared.kept.tolist(), dims
        if self._last is None or self._last[0] != key:
            conventions = replace(
                self._conventions, K=prepared.K_in_file, head=None, classes=None, min_count=None
            )
            class_names = self._selection.class_names
            with training.open() as samples:
                by_words = prepared.weights is prepared.logits is class_names is None
                if samples.names != prepared.names and (by_words or samples.names is not None):
                    raise DataError(
                        f"the labels of {self.name(training)!r} and those measured are other "
                        f"words, or words and numbers; give {spelled('class_names', 'FILE')} with "
                        "all classes"
                    )
                features = replace(samples, weights=None, bias=None, logits=None)
                train = prepare_samples(features, self._selection, conventions)
                assert train.labels is not None
                train = replace(train, kept=prepared.kept, labels=prepared.numbered(train.labels))
                if train.d != prepared.d:
                    raise DataError(
                        f"{self.name(training)} has features of dimension {train.d}, not "
                        f"{prepared.d}; give the training set of the same network"
                    )
                spaces = conventions.spaces(dims[0], train.K)
                parts = cut_samples(train, dims)
                read = read_moments(parts, self._budget, self._processes, spaces)
            self._last = key, read
        return self._last[1]

    def _matching(self, source: Source) -> Source:
        fit = [
            s
            for s in self._sources
            if len(self._sources) == 1
            or (
                s.attrs.get("split", TRAINING) == TRAINING
                and s.attrs.get("epoch") == source.attrs.get("epoch")
            )
        ]
        if len(fit) == 1:
            return fit[0]
        raise DataError(
            f"{self._conventions.means_from!r} has {len(fit)} training sets of the epoch of what "
            f"is measured; name one: {spelled('means_from', 'FILE:snapshots/NAME')}"
        )
