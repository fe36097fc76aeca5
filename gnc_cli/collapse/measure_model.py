"""`measure_model`: the collapse metrics of a network on its batches, as one `MeasureResult`.

The features are the input of the network's last linear layer. A hook reads them there, so that the
network needs no change; afterwards hooks, training modes, device and random numbers are as before.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gnc_cli.collapse.classifier import (
    Classifier,
    classifier_warning,
    find_classifiers,
    only_classifier,
)
from gnc_cli.collapse.dataset import ONE_LOGIT
from gnc_cli.collapse.gnc_metrics import GNCMetrics
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.arguments import validated
from gnc_cli.metrics.rows import to_numpy
from gnc_cli.parameters import Device
from gnc_cli.parsing import quote
from gnc_cli.runtime.distributed import Processes, run_on_all, run_on_first
from gnc_cli.runtime.threads import limit_threads, resolve_device

_KEPT_BYTES = 2 << 30
"""Size in bytes up to which features are kept for the second pass; for more the network runs
again."""
_BLOCK_BYTES = 64 << 20
"""Size in bytes of the features that are decided on together: large enough for fast products."""
_MAX_FLOAT_LABEL = 256
"""Largest label that may be a floating-point number: up to it every floating-point type, bfloat16
too, has all whole numbers."""
_LABELS = ("labels", "label", "targets", "target", "y")
_INPUTS = ("image", "images", "img", "pixel_values", "inputs", "input", "x", "input_ids", "data")
"""Names in dictionaries of samples for the labels, and for the one input of a network."""
_Labelled = tuple[np.ndarray, np.ndarray]
"""Raw features (n, d) and labels (n,) on the host."""


@validated
def measure_model(
    model: nn.Module,
    loader: Iterable[Any],
    head: nn.Module | Tensor | str | None = None,
    device: Device = "auto",
    *,
    weights: Any = None,
    batch_to: Callable[[Any], tuple[Any, Any]] | None = None,
) -> MeasureResult:
    """Measure collapse of a network on the samples of a loader, as `measure` does of saved files.

    The network runs in eval mode, without gradients, in the loader's order. Under
    torch.distributed every process calls this with its own part of the samples, and all get the
    result of all parts. A `DistributedSampler` repeats samples where the processes do not divide
    their number (`drop_last=True` leaves some out instead): N and the metrics are then of these.

    Args:
        model: the network, also wrapped in DistributedDataParallel or by torch.compile.
        loader: batches `(inputs, labels)`, of which further parts are left out, called as
            `model(inputs)`, or as `model(**inputs)` where these are a dictionary; or dictionaries
            with `labels`, `label`, `targets`, `target` or `y`, called by the names of the others
            where the model takes these (with `labels` themselves, if it takes them), else with
            the only other. NumPy arrays and lists of numbers become tensors, and floating-point
            numbers have the model's dtype if it has only one. Labels are whole numbers (n,) or
            (n, 1), or (n, T) where features are (n, T, d); -1 and -100 are left out. A causal
            language model of transformers (by its name: `...ForCausalLM`, `...LMHeadModel`) is
            measured on the next token. Beyond 2 GiB of features the loader is read a second time,
            and must give the same samples again: turn random augmentation off, which changes them
            unnoticed.
        head: the classifier, or its name in the model, `"classifier.out_proj"`. By default the
            module with a matrix (K, d) whose output is the model's, of several the one with as
            many rows as there are labels. A convolution of kernel size 1 on a map of one place,
            a cosine head and an ArcFace head are such modules too. Also a parameter or its name,
            `"W"`, where the model computes `F.linear(h, self.W)` or `h @ self.W.T`. A head of one
            logit is one of two classes, with rows -w/2 and w/2 and biases -b/2 and b/2.
        device: where to run, `cpu`, `cuda` or `cuda:N`; the model is brought back afterwards.
            `auto` leaves it where it is.
        weights: of an embedding network, whose output are the features: the classifier (K, d), or
            the name of such a parameter of the model, `"loss.weight"`; `"means"` where there is
            none, and class means stand in. With `head` the features are what that layer is given.
        batch_to: a function of a batch that gives `(inputs, labels)`, for other batches.

    Returns:
        The record of `measure`; `layer` is the head's name. Accuracy is decided by weights and bias
        of a linear layer, by `weights` as they are (scale the rows of a cosine classifier to norm
        1), and by the logits of any other head, which also has no sample margins. A warning says
        where a head that nobody named has more rows than there are labels.

    Raises:
        UsageError: no layer is plainly the last; the message lists them.
        DataError: a batch cannot be read, or its features cannot be measured.

    Example:
        >>> network = nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
        >>> batches = [(torch.randn(8, 2, 2), torch.tensor([0, 1] * 4)) for _ in range(3)]
        >>> result = measure_model(network, batches)
        >>> result.N, result.d, result.K, result.layer
        (24, 3, 2, '3')
    """
    network = _unwrapped(model)
    with (
        Processes.current() as processes,
        _on_device(network, device) as place,
        in_eval_mode(network),
        torch.random.fork_rng(devices=[]),
    ):
        stream = _Stream(network, loader, place, batch_to)
        candidates = run_on_all(processes, lambda: stream.find(head, weights))
        K = None
        if len(candidates) > 1 or candidates[0].weight is None:
            K = max(processes.all_gather(run_on_all(processes, stream.count_classes)))
        classifier = only_classifier(candidates, K)
        rows = classifier.weight
        metrics = GNCMetrics(classifier.d, K or 2 if rows is None else len(rows))
        with classifier:
            batches = run_on_all(processes, lambda: _first_pass(metrics, stream, classifier))
            metrics.sync()
            run_on_all(processes, lambda: _second_pass(metrics, batches, stream, classifier))
            metrics.sync()
        result = run_on_first(processes, lambda: metrics.compute(rows, detail=True))
    notes = (ONE_LOGIT,) if classifier.one_logit else ()
    result = replace(result, layer=classifier.name or None, notes=(*result.notes, *notes))
    if head is not None or weights is not None or stream.next_token:
        return result
    labelled = int(metrics.class_means()[1].nonzero()[0][-1]) + 1
    warning = classifier_warning(network, classifier, labelled)
    return result if warning is None else replace(result, warnings=(warning, *result.warnings))


@contextmanager
def in_eval_mode(network: nn.Module) -> Iterator[None]:
    """Put all modules into eval mode for the block; then each is as it was, whatever happened."""
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def _unwrapped(model: Any) -> nn.Module:
    """Return the network itself: a wrapper would talk to other processes, or not call new hooks."""
    wrappers = (nn.parallel.DistributedDataParallel, nn.DataParallel)
    while True:
        if isinstance(model, wrappers):
            model = model.module
        elif hasattr(model, "_orig_mod"):  # of torch.compile
            model = model._orig_mod
        elif isinstance(model, nn.Module):
            return model
        else:
            raise UsageError(f"model must be a torch.nn.Module, got {quote(model)}")


@contextmanager
def _on_device(network: nn.Module, device: str) -> Iterator[torch.device]:
    """Bring the network to a device for the block, and yield the device; `auto` leaves it."""
    homes = list(dict.fromkeys(p.device for p in (*network.parameters(), *network.buffers())))
    home = homes[0] if homes else torch.device("cpu")
    place = home if device == "auto" else resolve_device(device)
    if not homes or device == "auto" or homes == [place]:
        yield place
        return
    if len(homes) > 1:
        raise UsageError(f"device={device!r}: the model is spread over {homes}; leave device out")
    network.to(place)
    try:
        yield place
    finally:
        network.to(home)


class _Stream:
    """Calls a network on the batches of a loader, once or twice."""

    def __init__(
        self,
        network: nn.Module,
        loader: Iterable[Any],
        device: torch.device,
        batch_to: Callable[[Any], tuple[Any, Any]] | None,
    ) -> None:
        self.network, self.loader, self.device = network, loader, device
        self.batch_to = partial(_inputs_and_labels, network) if batch_to is None else batch_to
        # transformers' name for networks whose labels are those of the position before.
        name = type(network).__name__
        self.next_token = "ForCausalLM" in name or "LMHeadModel" in name
        self._started: Iterator[Any] | None = None
        dtypes = {p.dtype for p in network.parameters() if p.is_floating_point()}
        self.dtype = dtypes.pop() if len(dtypes) == 1 else None

    def find(self, head: nn.Module | Tensor | str | None, weights: Any) -> list[Classifier]:
        """Return the classifiers that the first batch shows, or the caller names."""
        batches = iter(self.loader)
        first = list(islice(batches, 1))
        if not first:
            raise DataError("the loader gives no batch; give one with samples")
        self._started = chain(first, batches)

        return find_classifiers(self.network, lambda: self._call(first[0])[0], head, weights)

    def count_classes(self) -> int:
        """Return the largest label plus 1, from all batches, without the network.

        Raises:
            UsageError: the loader can be read only once.
        """
        if isinstance(self.loader, Iterator):
            raise UsageError(
                "the labels of all batches are needed first, and the loader can be read only once; "
                "give a DataLoader or a list of batches, or name the head"
            )
        self._started = None
        labels = (to_numpy(self.batch_to(batch)[1], "labels") for batch in self.loader)
        return 1 + max((int(numbers.max(initial=-1)) for numbers in labels), default=-1)

    def batches(self, classifier: Classifier) -> Iterator[tuple[Tensor, np.ndarray, Tensor | None]]:
        """Yield features (n, d), labels (n,) and logits (n, K) of each batch, in order."""
        started, self._started = self._started, None
        for batch in self.loader if started is None else started:
            answer, labels = self._call(batch)
            features, logits = classifier.take(answer)
            if labels.ndim == 2 and features.ndim == 3:
                last = -1 if self.next_token else None
                labels = labels[:, 1:] if self.next_token else labels
                features = features[:, :last].flatten(0, 1)
                logits = None if logits is None else logits[:, :last].flatten(0, 1)
                labels = labels.flatten()
            elif labels.shape[1:] == (1,):
                labels = labels[:, 0]
            yield features, labels, logits

    def _call(self, batch: Any) -> tuple[Any, np.ndarray]:
        """Run the network on a batch and return outputs and labels."""
        inputs, labels = self.batch_to(batch)
        inputs = _moved(inputs, self.device, self.dtype)
        with torch.no_grad():
            by_name = isinstance(inputs, Mapping)
            output = self.network(**inputs) if by_name else self.network(inputs)
        values = to_numpy(labels, "labels")
        if np.isin(values, np.arange(-_MAX_FLOAT_LABEL, _MAX_FLOAT_LABEL + 1)).all():
            values = values.astype(np.int64)
        return output, values


def _inputs_and_labels(network: nn.Module, batch: Any) -> tuple[Any, Any]:
    """Return the inputs of a batch, a dictionary by the network's names, and the labels.

    Raises:
        DataError: the batch has another layout, or the network takes other names.
    """
    label = next((n for n in _LABELS if n in batch), None) if isinstance(batch, Mapping) else None
    if isinstance(batch, (tuple, list)) and len(batch) > 1:
        inputs, labels = batch[:2]
        ways = [inputs]
    elif label is not None:
        others = {name: part for name, part in batch.items() if name != label}
        names = [n for n in _INPUTS if n in others] or list(others)[: len(others) == 1]
        labels = batch[label]
        ways = [batch] * (label == "labels") + [others, *(others[name] for name in names[:1])]
    else:
        other = f"{type(batch).__name__} (a loader of one batch is [(inputs, labels)])"
        parts = f"{len(batch)} parts" if isinstance(batch, (tuple, list)) else other
        raise DataError(
            "a batch must be (inputs, labels), or a dictionary with 'labels' or 'label'; got "
            f"{list(batch) if isinstance(batch, Mapping) else parts}: "
            "give batch_to=lambda batch: (INPUTS, LABELS)"
        )
    refused = None
    for way in ways:
        try:
            if isinstance(way, Mapping):
                inspect.signature(network.forward).bind(**way)
            return way, labels
        except TypeError as error:
            refused = error
    raise DataError(
        f"{type(network).__name__} cannot be called with a batch's names "
        f"{', '.join(map(str, ways[-1]))} ({refused}); give "
        "batch_to=lambda batch: (INPUTS, LABELS)"
    ) from refused


def _moved(value: Any, device: torch.device, dtype: torch.dtype | None) -> Any:
    """Return a value with its tensors, arrays and lists of numbers as tensors on a device.

    They may be within lists, tuples and dictionaries. Floating-point numbers have the model's
    dtype, if it has only one; other values are unchanged.
    """
    if isinstance(value, Mapping):
        return {key: _moved(part, device, dtype) for key, part in value.items()}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        value = torch.tensor(value.astype(value.dtype.newbyteorder("="), order="C"))
    elif isinstance(value, list) and _is_number(value):
        value = torch.tensor(value)
    if isinstance(value, Tensor):
        return value.to(device, dtype if value.is_floating_point() else None)
    if hasattr(value, "to"):  # graphs and packed sequences too
        return value.to(device)
    if isinstance(value, (tuple, list)):
        parts = [_moved(part, device, dtype) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    return value


def _is_number(value: Any) -> bool:
    """Return True if nested lists begin with a number."""
    if isinstance(value, list):
        return bool(value) and _is_number(value[0])
    return isinstance(value, (int, float))


def _first_pass(
    metrics: GNCMetrics, stream: _Stream, classifier: Classifier
) -> list[_Labelled] | None:
    """Add all samples; return features and labels of each batch, or None if they are too large.

    Raises:
        UsageError: they are too large, and the loader can be read only once.
    """
    batches: list[_Labelled] | None = []
    size = 0
    for features, labels, logits in stream.batches(classifier):
        metrics.update(features, labels, logits)
        if batches is None:
            continue
        batches.append((to_numpy(features), labels))
        size += batches[-1][0].nbytes
        if size > _KEPT_BYTES:
            batches = None
            if isinstance(stream.loader, Iterator):
                raise UsageError(
                    "the loader can be read only once, and its features exceed 2 GiB; give a "
                    "DataLoader or a list of batches"
                )
    return batches


def _second_pass(
    metrics: GNCMetrics, batches: list[_Labelled] | None, stream: _Stream, classifier: Classifier
) -> None:
    """Decide on all samples by the class means; without `batches` the network runs again."""
    rerun = ((to_numpy(features), labels) for features, labels, _ in stream.batches(classifier))
    weights, bias = (classifier.weight, classifier.bias) if classifier.linear else (None, None)
    for features, labels in _in_blocks(rerun if batches is None else batches):
        with limit_threads(1) as workers:
            metrics.judge(features, labels, weights, bias, workers=workers)


def _in_blocks(batches: Iterable[_Labelled]) -> Iterator[_Labelled]:
    """Yield the same rows in blocks of some 64 MB."""
    parts: list[_Labelled] = []
    size = 0
    for batch in chain(batches, [None]):
        if parts and (batch is None or size >= _BLOCK_BYTES):
            features, labels = zip(*parts, strict=True)
            yield np.concatenate(features), np.concatenate(labels)
            parts, size = [], 0
        if batch is not None:
            parts.append(batch)
            size += batch[0].nbytes
