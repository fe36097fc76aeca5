"""The training set whose class means count for the set that is measured."""

from dataclasses import replace
from typing import Any

from gnc_cli.collapse.conventions import OWN_MEANS, Budget, Conventions, Selection
from gnc_cli.collapse.prepared import (
    Prepared,
    cut_prefixes,
    number_of_classes,
    prepare_dataset,
)
from gnc_cli.collapse.sources import TRAINING, Source, resolve
from gnc_cli.collapse.statistics import Spaces, check_train, read_moments
from gnc_cli.errors import DataError
from gnc_cli.io.inputs import short_name
from gnc_cli.io.loading import suspicion
from gnc_cli.parameters import spelled
from gnc_cli.runtime.distributed import Processes


class TrainingMeans:
    """Finder of the training set whose class means count.

    It is the set of `--means-from FILE`, else the training split of the same moment of a run, else
    the set itself. A training set that several sets share is read once.
    """

    def __init__(
        self,
        selection: Selection,
        conventions: Conventions,
        budget: Budget,
        processes: Processes,
    ) -> None:
        self._selection, self._conventions = selection, conventions
        self._budget, self._processes = budget, processes
        self._last: tuple[Any, list[Spaces]] | None = None
        self._class_count: tuple[Source, int, str | None] | None = None
        self._sources: list[Source] = []
        if conventions.means_from not in (None, OWN_MEANS):
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
        """Return a text that changes when the training set does."""
        sources = [*self._sources, *([source.training] if source.training else [])]
        return ",".join(training.stamp() for training in sources)

    def training_set(self, source: Source) -> Source | None:
        """Return the training set of `source`; None if its own class means count.

        Of several snapshots it is the one of the same epoch.

        Raises:
            DataError: there is not exactly one of that epoch.
        """
        if self._sources:
            return self._matching(source)
        return None if self._conventions.means_from == OWN_MEANS else source.training

    def classes(self, training: Source | None) -> int:
        """Return the number of classes of a training set; 0 where there is none."""
        if training is None:
            return 0
        if self._class_count is None or self._class_count[0] is not training:
            with training.open() as samples:
                doubt = (
                    None
                    if samples.labels is None or samples.names is not None
                    else suspicion(samples.labels)
                )
                K = number_of_classes(samples, samples.labels, None)
                self._class_count = training, K, doubt and f"{self.name(training)}: {doubt}"
        return self._class_count[1]

    def label_warning(self, training: Source | None) -> str | None:
        """Return a warning about the labels of a training set if K follows from them."""
        self.classes(training)
        return self._class_count[2] if training is not None and self._class_count else None

    def name(self, training: Source | None) -> str:
        """Return the name of a training set in messages and in the policy."""
        if training is None:
            return OWN_MEANS
        file = self._conventions.means_from
        return f"split {TRAINING}" if file is None else short_name(file)

    def own_means_warning(self, source: Source) -> str | None:
        """Return a warning if test data use their own class means because no training set exists.

        There is none if the user named a set with `--means-from`.
        """
        split, file = source.attrs.get("split", TRAINING), self._conventions.means_from
        no_split = source.snapshot is None or split == TRAINING
        if file is not None or no_split or source.training is not None:
            return None
        return (
            f"split {split} uses its own class means, as there is no snapshot of split "
            f"{TRAINING} next to it; name the training set with {spelled('means_from', 'FILE')}"
        )

    def moments(
        self, training: Source | None, prepared: Prepared, dims: list[int]
    ) -> list[Spaces] | None:
        """Return moments of the training rows, by prefix of `dims` dimensions.

        They are over the classes of the set that is measured; None without a training set.

        Raises:
            DataError: the training set does not fit the set.
        """
        if training is None:
            return None
        key = training, prepared.K_in_file, prepared.classes.tolist(), dims
        if self._last is None or self._last[0] != key:
            conventions = replace(
                self._conventions, K=prepared.K_in_file, head=None, classes=None, min_count=None
            )
            class_names = self._selection.class_names
            with training.open() as samples:
                by_words = (
                    prepared.weights is None and prepared.logits is None and class_names is None
                )
                if samples.names != prepared.names and (by_words or samples.names is not None):
                    raise DataError(
                        f"the labels of {self.name(training)!r} and those measured are different "
                        f"words, or words and numbers; give {spelled('class_names', 'FILE')} with "
                        "all classes"
                    )
                features = replace(samples, weights=None, bias=None, logits=None)
                train = prepare_dataset(features, self._selection, conventions)
                assert train.labels is not None
                train = replace(
                    train, classes=prepared.classes, labels=prepared.numbered(train.labels)
                )
                if train.d != prepared.d:
                    raise DataError(
                        f"{self.name(training)} has features of dimension {train.d}, not "
                        f"{prepared.d}; give the training set of the same network"
                    )
                spaces = conventions.spaces(dims[0], train.K)
                parts = cut_prefixes(train, dims)
                moments = read_moments(parts, self._budget, self._processes, spaces)
            self._last = key, moments
        check_train(self._last[1][-1], prepared, self.name(training))
        return self._last[1]

    def _matching(self, source: Source) -> Source:
        matches = [
            training
            for training in self._sources
            if len(self._sources) == 1
            or (
                training.attrs.get("split", TRAINING) == TRAINING
                and training.attrs.get("epoch") == source.attrs.get("epoch")
            )
        ]
        if len(matches) == 1:
            return matches[0]
        raise DataError(
            f"{self._conventions.means_from!r} has {len(matches)} training sets of the measured "
            f"epoch; name one: {spelled('means_from', 'FILE:snapshots/NAME')}"
        )
