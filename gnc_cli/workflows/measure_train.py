"""`--means-from FILE`: the class means of the training set, read once where rows share them."""

from dataclasses import replace
from typing import TYPE_CHECKING

from gnc_cli.errors import DataError
from gnc_cli.io.samples import SampleSource, find_samples
from gnc_cli.metrics.stream_moments import StreamedMoments
from gnc_cli.workflows.measure_request import Request
from gnc_cli.workflows.measure_samples import Prepared, prepare_samples
from gnc_cli.workflows.measure_sources import Source
from gnc_cli.workflows.measure_statistics import Reading, class_statistics

if TYPE_CHECKING:
    from gnc_cli.io.samples import Samples

__all__ = ["TrainingMeans"]

_LISTED = 8


class TrainingMeans:
    """The training set's class moments, for each set that is measured.

    Args:
        request: with `means_from`, or nothing is read.
        reading: processes, deadline, progress.

    Raises:
        DataError: the file holds no features.
    """

    def __init__(self, request: Request, reading: Reading) -> None:
        self._request, self._reading = request, reading
        self._sources: list[SampleSource] = []
        self._last: tuple[SampleSource, int, StreamedMoments] | None = None
        if request.means_from is not None:
            self._sources = find_samples([request.means_from])

    @property
    def stamp(self) -> str:
        """Changes when the training set does."""
        return ",".join(source.stamp for source in self._sources)

    def of(self, source: Source, prepared: Prepared) -> StreamedMoments | None:
        """Moments of the training rows that belong to `source`; None without `--means-from`.

        Of several snapshots it is the one of the same name, else of the same epoch.

        Raises:
            DataError: no snapshot fits, or the training set cannot be read.
        """
        if not self._sources:
            return None
        chosen = self._matching(source)
        if self._last is None or self._last[:2] != (chosen, prepared.selection.K):
            with chosen.open() as samples:
                train = self._prepared(samples, prepared)
                found = class_statistics(train, self._request, self._reading)
            self._last = (chosen, prepared.selection.K, found)
        return self._last[2]

    def _matching(self, source: Source) -> SampleSource:
        if len(self._sources) == 1:
            return self._sources[0]
        epoch = source.attrs.get("epoch")
        tests = (
            lambda s: s.snapshot is not None and s.snapshot == source.snapshot,
            lambda s: epoch is not None and s.attrs.get("epoch") == epoch,
        )
        for test in tests:
            for candidate in self._sources:
                if test(candidate):
                    return candidate
        snapshots = [s for s in self._sources if s.snapshot is not None] or self._sources
        names = [f"{s.file}:snapshots/{s.snapshot}" if s.snapshot else f"{s.file}"
                 for s in snapshots]  # fmt: skip
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        raise DataError(
            f"{self._request.means_from!r} has several training sets, {', '.join(names[:_LISTED])}"
            f"{more}, and none shares snapshot or epoch with what is measured; name one: "
            f"--means-from {names[0]}"
        )

    def _prepared(self, samples: "Samples", prepared: Prepared) -> Prepared:
        """The training set with the classes of the set that is measured."""
        request = replace(self._request, K=prepared.selection.K, classes=None, min_count=None)
        train = prepare_samples(replace(samples, weights=None, bias=None, logits=None), request)
        selection = prepared.selection
        assert train.labels is not None
        return replace(train, selection=selection, labels=selection.labels(train.labels))
