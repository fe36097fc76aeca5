"""`measure_model`: a network and its batches in, one `MeasureResult` out.

The features are what the network's last linear layer is given. A hook reads them there, so that the
network needs no change; afterwards hooks, training modes, device and random numbers are as before.
"""

import inspect
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gnc_cli.collapse.gnc_metrics import GNCMetrics
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.errors import DataError, UsageError
from gnc_cli.io.arguments import validated
from gnc_cli.metrics.rows import to_numpy
from gnc_cli.parameters import Device
from gnc_cli.parsing import shown
from gnc_cli.runtime.devices import resolve_device
from gnc_cli.runtime.distributed import Processes
from gnc_cli.runtime.threads import limit_threads
from gnc_cli.runtime.together import in_all, of_first

_KEPT_BYTES = 2 << 30
"""Features up to this size are kept for the second pass; more go through the network again."""
_BLOCK_BYTES = 64 << 20
"""Features that are decided on together."""
_LISTED = 8
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_Labelled = tuple[np.ndarray, np.ndarray]
"""Raw features (n, d) and labels (n,) on the host."""


@validated
def measure_model(
    model: nn.Module,
    loader: Iterable[Any],
    head: nn.Module | str | None = None,
    device: Device = "auto",
) -> MeasureResult:
    """Measure collapse of a network on the samples of a loader, as `measure` does of saved files.

    The network runs in eval mode, without gradients, in the loader's order. Under
    torch.distributed every process calls this with its own part of the samples, and all get the
    result of all parts. A `DistributedSampler` repeats samples where the processes do not divide
    their number (`drop_last=True` leaves some out instead): N and the figures are then of these.

    Args:
        model: the network, also wrapped in DistributedDataParallel or by torch.compile.
        loader: batches `(inputs, labels)`, called as `model(inputs)`, or as `model(**inputs)` where
            these are a dictionary; or dictionaries with `labels`, called as `model(**batch)`.
            Labels are integers (n,), or (n, T) where features are (n, T, d); -1 and -100 are left
            out. A causal language model of transformers (by its name: `...ForCausalLM`,
            `...LMHeadModel`) is measured on the next token. Beyond 2 GiB of features the loader is
            read a second time, and must give the same samples again: turn random augmentation
            off, which changes them unnoticed.
        head: the last linear layer, or its name in the model, `"classifier.out_proj"`. By default
            the one whose output is the model's. A convolution of kernel size 1 on a map of one
            place is one too.
        device: where to run, `cpu`, `cuda` or `cuda:N`; the model is brought back afterwards.
            `auto` leaves it where it is.

    Returns:
        The record of `measure`; `layer` is the head's name. Accuracy is decided by weights and bias
        of a linear layer, by the logits of any other head, which also has no sample margins.

    Raises:
        UsageError: no linear layer is plainly the last; the message lists them.
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
        stream = _Stream(network, loader, place)
        listener = in_all(processes, lambda: stream.find(head))
        metrics = GNCMetrics(listener.d, listener.K)
        with listener:
            kept = in_all(processes, lambda: _first_pass(metrics, stream, listener))
            metrics.sync()
            in_all(processes, lambda: _second_pass(metrics, kept, stream, listener))
            metrics.sync()
        result = of_first(processes, lambda: metrics.compute(listener.weight, detail=True))
    return replace(result, layer=listener.name)


@contextmanager
def in_eval_mode(network: nn.Module) -> Iterator[None]:
    """All modules in eval mode inside; then each is as it was, whatever happened."""
    modes = [(module, module.training) for module in network.modules()]
    network.eval()
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def _unwrapped(model: Any) -> nn.Module:
    """The network itself: a wrapper would talk to other processes, or not call new hooks."""
    wrappers = (nn.parallel.DistributedDataParallel, nn.DataParallel)
    while True:
        if isinstance(model, wrappers):
            model = model.module
        elif hasattr(model, "_orig_mod"):  # of torch.compile
            model = model._orig_mod
        elif isinstance(model, nn.Module):
            return model
        else:
            raise UsageError(f"model must be a torch.nn.Module, got {shown(model)}")


@contextmanager
def _on_device(network: nn.Module, device: str) -> Iterator[torch.device]:
    """Where the network is called: where it is, or a device that it is brought to and back from."""
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


class _Listener:
    """Keeps what the head was given and what it answered, while it is entered."""

    def __init__(self, name: str, head: Any) -> None:
        self.name, self.head = name, head
        self.weight = head.weight.flatten(1)
        self.K, self.d = self.weight.shape
        self._seen: list[tuple[Tensor, Tensor]] = []

    def __enter__(self) -> "_Listener":
        def listen(head: nn.Module, args: Any, kwargs: Any, output: Tensor) -> None:
            self._seen.append(([*args, *kwargs.values()][0], output))

        self._hook = self.head.register_forward_hook(listen, with_kwargs=True)
        return self

    def __exit__(self, *exception: object) -> None:
        self._hook.remove()

    def take(self) -> tuple[Tensor, Tensor]:
        """Features and logits of the one call since the last time."""
        seen, self._seen = self._seen, []
        if len(seen) != 1:
            raise DataError(
                f"the model called head {self.name!r} {len(seen)} times for a batch, expected "
                "once; name the layer whose output is the logits"
            )
        features, logits = seen[0]
        if not isinstance(self.head, _CONVOLUTIONS):
            return features, logits
        if logits.shape[2:].numel() > 1:
            raise DataError(
                f"head {self.name!r} is a convolution on a map of shape {(*features.shape[2:],)}, "
                "which has logits at each place; average the map before the head, or give "
                "features, labels and weights to measure()"
            )
        return features.flatten(1), logits.flatten(1)


class _Stream:
    """Calls a network on the batches of a loader, once or twice."""

    def __init__(self, network: nn.Module, loader: Iterable[Any], device: torch.device) -> None:
        self.network, self.loader, self.device = network, loader, device
        # transformers' name for networks whose labels are those of the position before.
        name = type(network).__name__
        self.next_token = "ForCausalLM" in name or "LMHeadModel" in name
        self._begun: Iterator[Any] | None = None

    def find(self, head: nn.Module | str | None) -> _Listener:
        """The head as the caller names it, else the one that the first batch shows."""
        try:
            batches = iter(self.loader)
        except TypeError:
            raise UsageError(f"loader must give batches, got {shown(self.loader)}") from None
        first = list(islice(batches, 1))
        if not first:
            raise DataError("the loader gives no batch; give one with samples")
        self._begun = chain(first, batches)
        if head is None:
            return _Listener(*_last_linear(self.network, lambda: self._call(first[0])[0]))
        named = dict(self.network.named_modules(remove_duplicate=False))
        name = next((n for n, m in named.items() if m is head), head)
        found = named.get(name) if isinstance(name, str) else None
        weight = getattr(found, "weight", None)
        if not isinstance(weight, Tensor) or (weight.ndim != 2 and not _is_pointwise(found)):
            raise UsageError(
                f"head={shown(head)} is no layer of the model with a weight of shape (K, d); "
                f"there is {_listed(_linear_layers(self.network))}"
            )
        return _Listener(str(name), found)

    def batches(self, listener: _Listener) -> Iterator[tuple[Tensor, np.ndarray, Tensor]]:
        """Features (n, d), labels (n,) and logits (n, K) of each batch, in the loader's order."""
        begun, self._begun = self._begun, None
        for batch in self.loader if begun is None else begun:
            labels = self._call(batch)[1]
            features, logits = listener.take()
            if labels.ndim == 2 and features.ndim == 3:
                if self.next_token:
                    features, logits, labels = features[:, :-1], logits[:, :-1], labels[:, 1:]
                features, logits = features.flatten(0, 1), logits.flatten(0, 1)
                labels = labels.flatten()
            yield features, labels, logits

    def _call(self, batch: Any) -> tuple[Any, np.ndarray]:
        """What the network says to a batch, and the labels."""
        if isinstance(batch, Mapping) and "labels" in batch:
            inputs, labels = batch, batch["labels"]
        elif isinstance(batch, (tuple, list)) and len(batch) == 2:
            inputs, labels = batch
        else:
            parts = list(batch) if isinstance(batch, Mapping) else type(batch).__name__
            parts = f"{len(batch)} parts" if isinstance(batch, (tuple, list)) else parts
            raise DataError(
                f"a batch must be (inputs, labels), or a dictionary with 'labels'; got {parts}"
            )
        inputs = _moved(inputs, self.device)
        with torch.no_grad():
            if isinstance(inputs, Mapping):
                self._check_names(inputs)
                output = self.network(**inputs)
            else:
                output = self.network(inputs)
        return output, to_numpy(labels, "labels")

    def _check_names(self, inputs: Mapping[str, Any]) -> None:
        """Refuse a dictionary that the network does not take."""
        try:
            inspect.signature(self.network.forward).bind(**inputs)
        except TypeError as error:
            name = next((key for key in inputs if key != "labels"), "inputs")
            raise DataError(
                f"{type(self.network).__name__} cannot be called with a batch's names "
                f"{', '.join(map(str, inputs))} ({error}); give batches (inputs, labels): "
                f"[(batch[{name!r}], batch['labels']) for batch in loader]"
            ) from error


def _moved(value: Any, device: torch.device) -> Any:
    """The tensors within lists, tuples and dictionaries on a device; all else as it is."""
    if isinstance(value, Mapping):
        return {key: _moved(part, device) for key, part in value.items()}
    if hasattr(value, "to"):  # graphs and packed sequences too
        return value.to(device)
    if isinstance(value, (tuple, list)):
        parts = [_moved(part, device) for part in value]
        return parts if isinstance(value, list) else tuple(parts)
    return value


def _linear_layers(network: nn.Module) -> dict[str, Any]:
    """By name: layers with a weight (K, d) that is a map from d to K, as `nn.Linear` has it."""
    found = {}
    for name, module in network.named_modules():
        weight = getattr(module, "weight", None)
        sizes = getattr(module, "out_features", None), getattr(module, "in_features", None)
        if isinstance(weight, Tensor) and tuple(weight.shape) == sizes:
            found[name] = module
    return found


def _is_pointwise(module: Any) -> bool:
    """A convolution that is a linear layer at each place: a weight (K, d, 1, ...)."""
    if not isinstance(module, _CONVOLUTIONS) or module.groups > 1:
        return False
    return module.weight.shape[2:].numel() == 1


def _last_linear(network: nn.Module, call: Callable[[], Any]) -> tuple[str, nn.Module]:
    """Name and module of the linear layer whose output is the network's; a convolution of kernel
    size 1 only where no other is.

    Where something follows it (a scale, a softmax) it is the only one with an output of that shape.
    """
    layers = _linear_layers(network)
    convolutions = {name: m for name, m in network.named_modules() if _is_pointwise(m)}
    # Not the outputs themselves: those of a whole network may not fit into memory.
    outputs: dict[str, tuple[Any, torch.Size]] = {}

    def listen(name: str, output: Tensor) -> None:
        outputs[name] = weakref.ref(output), output.shape

    hooks = [
        module.register_forward_hook(lambda _, __, output, name=name: listen(name, output))
        for name, module in (layers | convolutions).items()
    ]
    try:
        said = call()
    finally:
        for hook in hooks:
            hook.remove()
    parts = [said]
    if isinstance(said, Mapping):
        parts = [said["logits"]] if "logits" in said else [*said.values()]
    elif isinstance(said, (tuple, list)):
        parts = [*said]
    parts = [part for part in parts if isinstance(part, Tensor)]
    sizes = [part.shape for part in parts]
    found = [n for n, (output, _) in outputs.items() if any(output() is part for part in parts)]
    found = found or [n for n in layers if n in outputs and outputs[n][1] in sizes]
    # Behind a convolution places are averaged or left out: its channels are then the classes.
    found = found or [
        n for n, (_, its) in outputs.items()
        if n in convolutions and any(size[:2] == its[:2] for size in sizes)
    ][-1:]  # fmt: skip
    if len(found) != 1:
        example = f": head={(found or list(layers))[-1]!r}" if layers else ""
        raise UsageError(
            f"the model has {len(layers)} linear layer(s), and none is plainly the last; name it"
            f"{example}; there is {_listed(layers)}"
        )
    return found[0], (layers | convolutions)[found[0]]


def _listed(layers: dict[str, Any]) -> str:
    """Linear layers with their shapes (K, d), the last ones first."""
    texts = [f"{name!r} {tuple(layer.weight.shape)}" for name, layer in reversed(layers.items())]
    more = [f"{len(texts) - _LISTED} more"] if len(texts) > _LISTED else []
    return ", ".join(texts[:_LISTED] + more) or "none"


def _first_pass(
    metrics: GNCMetrics, stream: _Stream, listener: _Listener
) -> list[_Labelled] | None:
    """Take in all samples; features and labels of each batch, if they may be kept."""
    kept: list[_Labelled] | None = []
    size = 0
    for features, labels, logits in stream.batches(listener):
        metrics.update(features, labels, logits)
        if kept is None:
            continue
        kept.append((to_numpy(features), labels))
        size += kept[-1][0].nbytes
        if size > _KEPT_BYTES:
            kept = None
            if isinstance(stream.loader, Iterator):
                raise UsageError(
                    "the loader can be read only once, and its features exceed 2 GiB; give a "
                    "DataLoader or a list of batches"
                )
    return kept


def _second_pass(
    metrics: GNCMetrics, kept: list[_Labelled] | None, stream: _Stream, listener: _Listener
) -> None:
    """Decide on all samples by the class means."""
    again: Iterable[_Labelled] = kept or ()
    if kept is None:
        passed = stream.batches(listener)
        again = ((to_numpy(features), labels) for features, labels, _ in passed)
    head = listener.head
    linear = isinstance(head, (nn.Linear, *_CONVOLUTIONS))
    weights, bias = (listener.weight, head.bias) if linear else (None, None)
    for features, labels in _in_blocks(again):
        workers = torch.get_num_threads()
        with limit_threads(1):
            metrics.judge(features, labels, weights, bias, workers=workers)


def _in_blocks(batches: Iterable[_Labelled]) -> Iterator[_Labelled]:
    """The same rows in blocks of some 64 MB."""
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
