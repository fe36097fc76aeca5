"""Other data beside a set: the training set, whose class means count, and what is out of
distribution."""

import os
from dataclasses import replace

import numpy as np

from gnc_cli.collapse.reader import Reader, Reading
from gnc_cli.collapse.request import OWN, Request
from gnc_cli.collapse.samples import Prepared, prepare_samples
from gnc_cli.collapse.sources import TRAINING, Source, find_samples
from gnc_cli.errors import DataError
from gnc_cli.io.inputs import short_name, split_key
from gnc_cli.metrics.class_moments import ClassMoments, StreamedMoments
from gnc_cli.parameters import spelled

_LISTED = 8


class TrainingMeans:
    """Whose class means count: those of `--means-from FILE`, else of the training split of the same
    moment of a run, else the set's own. A training set is read once where rows share it."""

    def __init__(self, request: Request, reading: Reading) -> None:
        self._request, self._reading = request, reading
        self._last: tuple[Source, int, list[int], StreamedMoments] | None = None
        named = [] if request.means_from in (None, OWN) else [str(request.means_from)]
        self._sources = [
            source
            for name in named
            for source in find_samples([name], labels_are=request.labels_are)
        ]

    def stamp(self, source: Source) -> str:
        """Changes when the training set does."""
        sources = [*self._sources, *([source.training] if source.training else [])]
        return ",".join(each.stamp for each in sources)

    def of(self, source: Source) -> Source | None:
        """The training set that belongs to `source`; None where its own means count.

        Of several snapshots in a file it is the one of the same name, else of the same epoch.
        """
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
        asked = self._request.means_from is not None
        if asked or source.snapshot is None or split == TRAINING or source.training is not None:
            return None
        return (
            f"split {split} goes by its own class means, as there is no snapshot of split "
            f"{TRAINING} beside it; name the training set with {spelled('means_from', 'FILE')}"
        )

    def moments(self, training: Source | None, prepared: Prepared) -> StreamedMoments | None:
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
                found = Reader(train, self._request, self._reading).moments()
            self._last = (*key, found)
        return self._last[3]

    def _matching(self, source: Source) -> Source:
        if len(self._sources) == 1:
            return self._sources[0]
        # Test sets are none, nor is what is measured, unless its file calls it a training set.
        fit = [
            s
            for s in self._sources
            if s.attrs.get("split") == TRAINING or ("split" not in s.attrs and not _same(s, source))
        ]
        if len(fit) == 1 and None in (fit[0].attrs.get("epoch"), source.attrs.get("epoch")):
            return fit[0]
        for place in (lambda s: s.snapshot, lambda s: s.attrs.get("epoch")):
            for candidate in fit:
                if place(source) is not None and place(candidate) == place(source):
                    return candidate
        names = [
            f"{s.file}/{s.snapshot}.h5"
            if os.path.isdir(str(s.file))
            else f"{s.file}:snapshots/{s.snapshot}"
            if s.snapshot
            else f"{s.file}"
            for s in sorted(fit, key=lambda s: s.snapshot is None)
        ]
        if not names:
            raise DataError(
                f"{self._request.means_from!r} has no training set beside what is measured; name "
                f"one: {spelled('means_from', 'train.h5')}"
            )
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        raise DataError(
            f"{self._request.means_from!r} has the training set(s) {', '.join(names[:_LISTED])}"
            f"{more}, and none shares snapshot or epoch with what is measured; name one: "
            f"{spelled('means_from', names[0])}"
        )


def _same(a: Source, b: Source) -> bool:
    """Whether two sources are one set, however its file was named."""
    files = {os.path.realpath(split_key(str(source.file))[0]) for source in (a, b)}
    return len(files) == 1 and a.snapshot == b.snapshot


def check_train(train: ClassMoments, prepared: Prepared, name: str) -> None:
    """Refuse class means that do not fit the set that is measured."""
    assert prepared.labels is not None
    if train.means.shape != (prepared.K, prepared.d):
        raise DataError(
            f"{name} has class means of shape {train.means.shape}, not "
            f"{(prepared.K, prepared.d)}; give the training set of the same network"
        )
    seen = np.unique(prepared.labels[prepared.labels >= 0])
    unknown = seen[~train.present[seen]]
    if unknown.size:
        raise DataError(
            f"{name} has no sample of class {prepared.kept[unknown[0]]}, which the data have; "
            f"leave such classes out with {spelled('classes', 'FILE')}, or take the data's own "
            f"means with {spelled('means_from', OWN)}"
        )


class OutOfDistribution:
    """The features of `--ood`, of which the mean counts; read once."""

    def __init__(self, source: Source | None, request: Request, reading: Reading) -> None:
        self._source, self._request, self._reading = source, request, reading
        self._found: ClassMoments | None = None

    @property
    def stamp(self) -> str:
        """Changes when the file does."""
        return "" if self._source is None else self._source.stamp

    def moments(self, d: int) -> ClassMoments | None:
        """Moments of all raw rows as one class; None without `--ood`.

        Raises:
            DataError: they are not of dimension d, or one is not finite.
        """
        if self._found is None and self._source is not None:
            with self._source.open() as samples:
                rows = samples.features
                assert rows is not None
                one = np.zeros(1, dtype=np.int64)
                whole = Prepared(
                    rows,
                    np.zeros(rows.shape[0], dtype=np.int64),
                    None,
                    None,
                    None,
                    samples.where,
                    (),
                    None,
                    kept=one,
                    K_in_file=1,
                    d=rows.shape[1],
                )
                raw = replace(self._request, normalize="off")
                self._found = Reader(whole, raw, self._reading).moments().moments["raw"]
        if self._found is not None and self._found.d != d:
            raise DataError(
                f"{spelled('ood')}: features of dimension {self._found.d}, and those measured have "
                f"{d}; give features of the same layer"
            )
        return self._found
