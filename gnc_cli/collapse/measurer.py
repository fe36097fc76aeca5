"""One set of features and weights, from open files to a result; other data beside it: the training
set, whose class means count, and what is out of distribution.
"""

import time
from dataclasses import replace
from typing import Any

import numpy as np

from gnc_cli.collapse.assemble import assemble, classifier_weights, mean_weights
from gnc_cli.collapse.reference import gnc2_reference
from gnc_cli.collapse.request import OWN, LabelForm, Request
from gnc_cli.collapse.result import Gnc2Reference, MeasureResult
from gnc_cli.collapse.samples import Prepared, Samples, file_stamp, prepare_samples
from gnc_cli.collapse.sources import TRAINING, Source, resolve, resolve_features
from gnc_cli.collapse.statistics import Statistics, read_moments, read_statistics
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.inputs import short_name
from gnc_cli.io.loading import suspicion
from gnc_cli.metrics.class_moments import ClassMoments
from gnc_cli.metrics.gnc2 import EVERY_CLASS
from gnc_cli.parameters import spelled
from gnc_cli.records import Bracket
from gnc_cli.runtime.deadline import Deadline
from gnc_cli.runtime.distributed import Processes
from gnc_cli.runtime.memory import check_memory
from gnc_cli.runtime.threads import limit_threads, threads_for

_CLOSED = 1e-6
"""Share of the upper end that a bracket of GNC2 may leave open without a word."""


class Measurer:
    """Measures sets one after the other with one request; keeps what they share."""

    def __init__(self, request: Request, processes: Processes) -> None:
        self.request, self.processes = request, processes
        self.ood = None if request.ood is None else resolve_features(request.ood)
        self._train = _TrainingMeans(request, processes)
        self._ood_moments: ClassMoments | None = None
        self._references: dict[tuple[int, int], Gnc2Reference | None] = {}

    @property
    def ood_name(self) -> str | None:
        """What results call the features of `--ood`."""
        return None if self.ood is None else self.ood.file

    def stamp(self, source: Source) -> str:
        """Changes when the set does, or a file beside it that the numbers depend on."""
        request = self.request
        beside = (request.classes, request.class_names, request.reference, request.table)
        files = [file_stamp(path) for path in beside if isinstance(path, str)]
        ood = "" if self.ood is None else self.ood.stamp
        return "|".join([source.stamp, self._train.stamp(source), ood, *files])

    def measure(self, samples: Samples, source: Source) -> MeasureResult:
        """The result of one open set.

        Raises:
            DataError, UsageError: the set cannot be measured.
            TimeoutError: interrupted before the samples were read.
        """
        started = time.monotonic()
        request = self.request
        prepared = prepare_samples(samples, request)
        _check_memory(prepared, request)
        weights, statistics = None, Statistics()
        if prepared.weights is not None:  # refused before hours are spent on the features
            weights = classifier_weights(
                prepared.weights,
                unit=request.unit,
                labels=prepared.kept,
                where=prepared.where["weights"],
            )
        if prepared.features is not None:
            ood = self._out_of_distribution(prepared.d)
            training = self._train.of(source)
            statistics = read_statistics(
                prepared,
                request,
                self.processes,
                self._train.moments(training, prepared),
                self._train.name(training),
            )
            statistics = replace(statistics, ood=ood, ood_name=self.ood_name)
            assert statistics.moments is not None
            weights = weights or mean_weights(statistics.moments, unit=request.unit)
        else:
            _refuse_options_of_samples(request)
        assert weights is not None
        deadline, (K, d) = request.deadline(), weights.rows.shape
        with limit_threads(threads_for(2.0 * K * K * d, request.threads)):
            result = assemble(
                request,
                statistics,
                weights,
                labels=prepared.kept,
                left_out=prepared.K_in_file - prepared.K,
                names=prepared.names,
                reference=self._reference(d, K) if request.unit else None,
                place=_place(source),
                head=source.head,
                deadline=deadline,
                started=started,
            )
        wide = _open_bracket(result.gnc2, deadline)
        warnings = [wide, *_about_labels(samples)]
        if prepared.features is not None:
            warnings.insert(1, self._train.lacking(source))
        texts = [text for text in (*warnings, *samples.notes) if text is not None]
        cut_short = deadline.expired and (bool(result.undecided) or wide is not None)
        return replace(result, warnings=(*result.warnings, *texts), cut_short=cut_short)

    def _reference(self, d: int, K: int) -> Gnc2Reference | None:
        if (d, K) not in self._references:
            self._references[d, K] = gnc2_reference(
                d, K, self.request.reference, self.request.deadline(), self.request.table
            )
        return self._references[d, K]

    def _out_of_distribution(self, d: int) -> ClassMoments | None:
        """Moments of all raw rows of `--ood` as one class, read once; None without it.

        Raises:
            DataError: they are not of dimension d, or one is not finite.
        """
        if self.ood is None:
            return None
        if self._ood_moments is None:
            with self.ood.open() as samples:
                assert samples.features is not None
                N, columns = samples.features.shape
                one = np.zeros(1, dtype=np.int64)
                labels = np.zeros(N, dtype=np.int64)
                whole = Prepared(
                    **{**vars(samples), "labels": labels}, kept=one, K_in_file=1, d=columns
                )
                by_space = read_moments(whole, self.request, self.processes, ("raw",))
                self._ood_moments = by_space["raw"]
        if self._ood_moments.d != d:
            raise DataError(
                f"{spelled('ood')}: features of dimension {self._ood_moments.d}, and those "
                f"measured have {d}; give features of the same layer"
            )
        return self._ood_moments


def _check_memory(samples: Prepared, request: Request) -> None:
    """Refuse classes and dimensions whose float64 sums, covariances and rows cannot fit."""
    d, K, rows, spaces = samples.d, samples.K, samples.K, 0
    if samples.labels is not None:
        spaces = len(request.spaces(d, K))
        rows = K if samples.weights is not None else min(K, len(samples.labels))
    copies = 60.0 if request.per_class is not None or rows <= EVERY_CLASS else 28.0
    check_memory(
        spaces * (16.0 * (K + rows) * d + 40.0 * d * d) + copies * rows * d + 80.0 * K,
        f"measuring K={K} classes in d={d}",
        f"leave classes out with {spelled('min_count')} or {spelled('classes', 'FILE')}",
    )


def _refuse_options_of_samples(request: Request) -> None:
    """Refuse what means nothing where there are only weights."""
    present = {
        "means_from": request.means_from is not None,
        "ood": request.ood is not None,
        "variants": request.classic,
        "labels_are": request.labels_are != LabelForm.ZERO_BASED,
    }
    for name in (name for name, here in present.items() if here):
        raise UsageError(f"{spelled(name)} is about samples, and there are only weights; drop it")


def _about_labels(samples: Samples) -> list[str | None]:
    """Warnings about labels that may not be meant so, and of samples that are left out."""
    if samples.labels is None:
        return []
    counted = left = None
    if samples.weights is None and samples.logits is None:
        counted = suspicion(samples.labels)
    if missing := np.count_nonzero(samples.labels < 0):
        left = f"{missing} of {len(samples.labels)} samples have label -1 or -100: left out"
    return [counted, left]


def _place(source: Source) -> dict[str, Any]:
    """Where the numbers are from, as the result has it."""
    attrs = {name: value for name, value in source.attrs.items() if name != "provenance"}
    place = {name: attrs.pop(name, None) for name in ("epoch", "step", "layer", "split")}
    return {"file": source.file, "snapshot": source.snapshot, **place, "attrs": attrs}


def _open_bracket(rho: Bracket, deadline: Deadline) -> str | None:
    """Why the bracket of GNC2 is wide, if it is."""
    if rho.width <= _CLOSED * rho.upper or rho.upper <= _CLOSED:
        return None
    if deadline.interrupted:
        return "interrupted before the bracket of GNC2 closed; it is valid, and wide"
    if deadline.expired:
        return "time came before the bracket of GNC2 closed; it is valid: raise --time-limit"
    return "the bracket of GNC2 did not close; it is valid: please report these weights"


class _TrainingMeans:
    """Whose class means count: those of `--means-from FILE`, else of the training split of the same
    moment of a run, else the set's own. A training set is read once where rows share it."""

    def __init__(self, request: Request, processes: Processes) -> None:
        self._request, self._processes = request, processes
        self._last: tuple[Source, int, list[int], dict[str, ClassMoments]] | None = None
        named = [] if request.means_from in (None, OWN) else [str(request.means_from)]
        self._sources = [
            source
            for name in named
            for source in resolve(Request(files=(name,), labels_are=request.labels_are))
        ]

    def stamp(self, source: Source) -> str:
        """Changes when the training set does."""
        sources = [*self._sources, *([source.training] if source.training else [])]
        return ",".join(each.stamp for each in sources)

    def of(self, source: Source) -> Source | None:
        """The training set that belongs to `source`, of several snapshots that of the same epoch;
        None where its own means count."""
        if self._sources:
            return self._matching(source)
        return None if self._request.means_from == OWN else source.training

    def name(self, training: Source | None) -> str:
        """What messages and the policy call it."""
        if training is None:
            return OWN
        named = self._request.means_from
        return f"split {TRAINING}" if named is None else short_name(named)

    def lacking(self, source: Source) -> str | None:
        """A warning where a snapshot of test data goes by its own class means, unasked."""
        split = source.attrs.get("split", TRAINING)
        named = self._request.means_from is not None
        if named or source.snapshot is None or split == TRAINING or source.training is not None:
            return None
        return (
            f"split {split} goes by its own class means, as there is no snapshot of split "
            f"{TRAINING} beside it; name the training set with {spelled('means_from', 'FILE')}"
        )

    def moments(
        self, training: Source | None, prepared: Prepared
    ) -> dict[str, ClassMoments] | None:
        """Moments of the training rows, over the classes of the set that is measured."""
        if training is None:
            return None
        key = training, prepared.K_in_file, prepared.kept.tolist()
        if self._last is None or self._last[:3] != key:
            request = replace(self._request, K=prepared.K_in_file, classes=None, min_count=None)
            with training.open() as samples:
                own = replace(samples, weights=None, bias=None, logits=None)
                train = prepare_samples(own, request)
                assert train.labels is not None
                train = replace(train, kept=prepared.kept, labels=prepared.numbered(train.labels))
                spaces = request.spaces(train.d, train.K)
                by_space = read_moments(train, request, self._processes, spaces)
            self._last = (*key, by_space)
        return self._last[3]

    def _matching(self, source: Source) -> Source:
        if len(self._sources) == 1:
            return self._sources[0]
        epoch = source.attrs.get("epoch")
        fit = [
            s
            for s in self._sources
            if s.attrs.get("split", TRAINING) == TRAINING and s.attrs.get("epoch") == epoch
        ]
        if len(fit) == 1:
            return fit[0]
        raise DataError(
            f"{self._request.means_from!r} has {len(fit)} training sets of the epoch of what is "
            f"measured; name one: {spelled('means_from', 'FILE:snapshots/NAME')}"
        )
