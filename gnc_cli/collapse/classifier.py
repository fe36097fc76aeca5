"""The classifier of a network and its features, found with hooks on one batch.

A classifier is a module that owns a matrix W (K, d) and maps d numbers to K: `nn.Linear`, a
convolution of kernel size 1, a cosine or ArcFace head; or a parameter that the network multiplies
features by, `F.linear(h, self.W)`. If the caller gives W, or there is no classifier, the features
are the output of the network.
"""

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from gnc_cli.errors import DataError, UsageError
from gnc_cli.parsing import abridge, quote

MEANS = "means"
"""Value of `weights` for a network without a classifier: class means stand in."""
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
"""The convolutions, which are classifiers if their kernels have size 1."""
_PRODUCTS = (functional.linear, torch.matmul, torch.mm, Tensor.matmul, Tensor.__matmul__, Tensor.mm)
"""The functions that multiply features by a parameter."""
_Call = tuple[Any, torch.Size, torch.Size]
"""A call of a module: a weak reference to its output, as the outputs of all modules may not fit
into memory, and the shapes of its input and output."""


class Classifier:
    """Recorder of the features and logits of a module, while it is entered.

    Args:
        name: name of the module; empty for the network itself.
        module: the module whose calls are recorded.
        weight: shape (K, d), or None if class means stand in for it.
        external: the weight is the caller's, and the features are the output of the network, or the
            input of the named module.
    """

    def __init__(
        self, name: str, module: nn.Module, weight: Any, *, external: bool = False
    ) -> None:
        self.name, self.module = name, module
        self.external, self.outermost = external, external and not name
        self.linear = external or isinstance(module, (nn.Linear, *_CONVOLUTIONS))
        """True if weight and bias determine the class."""
        self._calls: list[tuple[Any, Any]] = []
        self.use(weight, None if external else getattr(module, "bias", None))

    def use(self, weight: Any, bias: Any = None) -> None:
        """Set the matrix (K, d) and the bias (K,).

        One logit, K = 1, decides between two classes as the logits of rows -w/2 and w/2 do.
        """
        self.d = 0 if weight is None else int(np.shape(weight)[1])
        self.one_logit = weight is not None and len(weight) == 1
        self.weight, self.bias = (
            _halves(part) if self.one_logit and part is not None else part
            for part in (weight, bias)
        )

    def __enter__(self) -> "Classifier":
        def listen(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            values = _tensors(output) if self.outermost else [*args, *kwargs.values()]
            value = next(iter(values), None)
            self._calls.append((value, None if self.external else output))

        self._hook = self.module.register_forward_hook(listen, with_kwargs=True)
        return self

    def __exit__(self, *exception: object) -> None:
        self._hook.remove()

    def take(self, answer: Any = None) -> tuple[Tensor, Tensor | None]:
        """Return features (n, d) and logits (n, K) of the one call since the last `take`.

        In this call the network returned `answer`. An external classifier has no logits.

        Raises:
            DataError: there was not exactly one call, or it had no tensor of features.
        """
        calls, self._calls = self._calls, []
        if len(calls) != 1:
            raise DataError(
                f"the model called head {self.name!r} {len(calls)} times for a batch, expected "
                "once; name the layer whose output is the logits"
            )
        features, logits = calls[0]
        if not isinstance(features, Tensor):
            raise DataError(
                f"{'head ' + repr(self.name) if self.name else 'the model'} has no tensor of "
                "features; name a layer that is given one: head=NAME"
            )
        if self.outermost and features.shape[2:].numel() == 1:
            features = features.flatten(1)
        if self.one_logit and isinstance(logits, Tensor):
            logits = _halves(logits.reshape(-1, 1).T).T
        if self.external or not isinstance(self.module, _CONVOLUTIONS):
            return features, logits
        if logits.shape[2:].numel() > 1:
            raise DataError(
                f"head {self.name!r} is a convolution on a map of shape {(*features.shape[2:],)}, "
                "which has logits at each place; average the map before the head, or give "
                "features, labels and weights to measure()"
            )
        return features.flatten(1), logits.flatten(1)


class Product(TorchFunctionMode, Classifier):  # type: ignore[misc]
    """A classifier that is a parameter.

    While it is entered, it sees every call of torch, and records the features that the network
    multiplies by the parameter, and the product.

    Args:
        network: the network that has the parameter.
        name: name of the parameter in the network.
        call: function that calls the network on a batch, and returns its answer.
    """

    def __init__(self, network: nn.Module, name: str, call: Callable[[], Any]) -> None:
        Classifier.__init__(self, name, network, None)
        self.parameter = network.get_parameter(name)
        self._operands: tuple[Any, Any] = (None, None)
        with self:
            answer = call()
            product: Any = Classifier.take(self)[1]
        self.use(*self._operands)
        self.linear = any(part.data_ptr() == product.data_ptr() for part in _tensors(answer))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        product = func(*args, **(kwargs or {}))
        factors = [*args, *(kwargs or {}).values(), None]
        matrix = factors[1] if func in _PRODUCTS else None
        if isinstance(matrix, Tensor) and matrix.data_ptr() == self.parameter.data_ptr():
            linear = func is functional.linear
            self._operands = (matrix, factors[2]) if linear else (matrix.T, None)
            self._calls.append((factors[0], product))
        return product

    def take(self, answer: Any = None) -> tuple[Tensor, Tensor | None]:
        """Return features (n, d), and the logits (n, K) that the network made of the product.

        Raises:
            DataError: the parameter was not multiplied by features exactly once.
        """
        features, product = Classifier.take(self)
        assert product is not None
        parts = [product] if self.linear else _tensors(answer)
        return features, next((p for p in parts if p.shape == product.shape), None)


def find_classifiers(
    network: nn.Module,
    call: Callable[[], Any],
    head: nn.Module | Tensor | str | None,
    weights: Any,
) -> list[Classifier]:
    """Return the classifier that the caller names or gives, else those with the network's output.

    Args:
        network: the network.
        call: function that calls the network on a batch, and returns its answer.
        head: a module, a parameter or its name. With `weights` the features are the input of the
            module, without `head` the output of the network.
        weights: shape (K, d), the name of a parameter, `MEANS`, or None.

    Raises:
        UsageError: there is none; the message lists the modules that may be meant.
    """
    modules = dict(network.named_modules(remove_duplicate=False))
    owners = {name: m for name, m in network.named_modules() if _matrix(m) is not None}
    free = {
        name: matrix
        for name, matrix in network.named_parameters()
        if matrix.ndim == 2 and "." not in name
    }
    heads = {**{name: m for name, m in owners.items() if name}, **free}
    parts = modules | dict(network.named_parameters())
    name: Any = next((n for n, part in parts.items() if part is head), "" if head is None else head)
    part = parts.get(name) if isinstance(name, str) else None
    if part is None or (head is not None and weights is None and _matrix(part) is None):
        raise UsageError(
            f"head={quote(head)} is no layer of the model with a weight of shape (K, d); "
            f"there is {_module_list(heads)}"
        )
    if weights is not None:
        return [_external(network, name, call, weights)]
    if isinstance(part, Tensor):
        return [Product(network, name, call)]
    watched = owners if head is None else {name: modules[name]}
    answer, calls = _calls(watched, call)
    names = _output_modules(answer, calls, watched) if head is None else [name]
    if not names:
        example = f": head={list(heads)[-1]!r}" if heads else ""
        raise UsageError(
            f"the model has {len(heads)} linear layer(s), and none is plainly the last; name it"
            f"{example}, or give weights=W (K, d) for the output of the model; there is "
            f"{_module_list(heads)}"
        )
    return [Classifier(n, watched[n], _rows(watched[n], calls.get(n))) for n in names]


def only_classifier(candidates: list[Classifier], K: int | None) -> Classifier:
    """Return the only candidate, or the one with a row for each of K classes.

    Raises:
        UsageError: not exactly one has K rows.
    """
    fitting = [c for c in candidates if len(candidates) == 1 or len(c.weight) == K]
    if len(fitting) != 1:
        raise UsageError(
            f"the model has {len(candidates)} linear layer(s) that may be the last, and "
            f"{len(fitting)} of them with a row for each of {K} classes; name it: "
            f"head={candidates[-1].name!r}; there is "
            f"{_module_list({c.name: c.module for c in candidates})}"
        )
    return fitting[0]


def _external(network: nn.Module, name: str, call: Callable[[], Any], weights: Any) -> Classifier:
    """Return the caller's weights as a classifier of the network's output, or a module's input."""
    module = network.get_submodule(name)
    with Classifier(name, module, None, external=True) as classifier:
        call()
        classifier.d = classifier.take()[0].shape[-1]
    hint = ""
    if isinstance(weights, str):
        if weights == MEANS:
            return classifier
        hint = f"; if the model multiplies by it, give head={weights!r}"
        weights = network.state_dict(keep_vars=True).get(weights, weights)
    shape = () if isinstance(weights, str) else tuple(np.shape(weights))
    if len(shape) != 2 or shape[1] != classifier.d:
        if shape[:1] == (classifier.d,):
            hint = f" (stored as (d, K)? give its transpose){hint}"
        value = f"shape {shape}" if shape else f"weights={quote(weights)}"
        raise UsageError(
            f"{value} is no classifier of d = {classifier.d} features{hint}; give weights=W "
            f"(K, {classifier.d}), the name of such a parameter, or {MEANS!r} where there is none"
        )
    classifier.use(weights)
    return classifier


def classifier_warning(network: nn.Module, classifier: Classifier, K: int) -> str | None:
    """Say that a classifier has rows for more than K classes, so that it may give an embedding.

    The classifier is one that the user did not name.
    """
    rows = len(classifier.weight)
    if rows <= K:
        return None
    fitting = [
        f"{name!r} {tuple(matrix.shape)}"
        for name, matrix in network.state_dict().items()
        if tuple(matrix.shape) in ((K, rows), (rows, K))
    ]
    example = f", such as its own {abridge(fitting)}" if fitting else ""
    return (
        f"head {classifier.name!r} has {rows} rows, and the labels run from 0 to {K - 1}: if it "
        f"gives an embedding, give weights=W ({K}, {rows}){example} (unit rows for a cosine head), "
        f"or weights={MEANS!r} where there is no classifier; head=NAME names another layer"
    )


def _matrix(module: Any) -> Tensor | None:
    """Return the `weight` of a module, or its only matrix, of shape (K, d) or (d, K)."""
    if isinstance(module, Tensor):
        return module if module.ndim == 2 else None
    if isinstance(module, _CONVOLUTIONS):
        places = module.weight.shape[2:].numel()
        return module.weight.flatten(1) if module.groups == places == 1 else None
    tensors = [getattr(module, "weight", None)]
    if not isinstance(tensors[0], Tensor):
        tensors = [*module.parameters(recurse=False), *module.buffers(recurse=False)]
    tensors = [] if isinstance(module, (nn.Embedding, nn.EmbeddingBag)) else tensors
    matrices = [matrix for matrix in tensors if matrix is not None and matrix.ndim == 2]
    return matrices[0] if len(matrices) == 1 else None


def _halves(part: Any) -> Tensor:
    """Return the row, bias or logit of each of two classes, from that of their difference."""
    part = torch.as_tensor(part).detach()
    return torch.cat((-part, part)) / 2


def _rows(module: nn.Module | Tensor, call: _Call | None) -> Tensor:
    """Return the matrix of a module as (K, d), by the shapes of input and output of its call."""
    matrix = _matrix(module)
    assert matrix is not None
    transposed = call is not None and (call[1][-1], call[2][-1]) == matrix.shape
    return matrix.T if transposed and matrix.shape[0] != matrix.shape[1] else matrix


def _calls(
    modules: Mapping[str, nn.Module], call: Callable[[], Any]
) -> tuple[Any, dict[str, _Call]]:
    """Return the result of `call`, and the last call of each module that got a tensor."""
    calls: dict[str, _Call] = {}

    def listen(name: str, args: Any, kwargs: Any, output: Any) -> None:
        value = next(iter([*args, *kwargs.values()]), None)
        if isinstance(value, Tensor) and isinstance(output, Tensor):
            calls[name] = weakref.ref(output), value.shape, output.shape

    hooks = [
        module.register_forward_hook(
            lambda _, args, kwargs, output, name=name: listen(name, args, kwargs, output),
            with_kwargs=True,
        )
        for name, module in modules.items()
    ]
    try:
        return call(), calls
    finally:
        for hook in hooks:
            hook.remove()


def _tensors(output: Any) -> list[Tensor]:
    """Return the tensors of a network's answer; of a dictionary its logits, if it has some."""
    parts = [output]
    if isinstance(output, Mapping):
        parts = [output["logits"]] if "logits" in output else [*output.values()]
    elif isinstance(output, (tuple, list)):
        parts = [*output]
    return [part for part in parts if isinstance(part, Tensor)]


def _output_modules(
    answer: Any, calls: dict[str, _Call], modules: Mapping[str, nn.Module]
) -> list[str]:
    """Return the names of the modules whose output is the network's.

    If a scale or a softmax follows, they are the modules with an output of that shape. A
    convolution counts only if no other module does.
    """
    parts = _tensors(answer)
    sizes = [size for part in parts for size in (part.shape, (*part.shape, 1))]
    convolutions = [name for name in calls if isinstance(modules[name], _CONVOLUTIONS)]
    linear = [
        name
        for name, (_, inputs, outputs) in calls.items()
        if name not in convolutions
        and sorted((inputs[-1], outputs[-1])) == sorted(_rows(modules[name], None).shape)
    ]
    names = [
        name for name in (*linear, *convolutions) if any(calls[name][0]() is p for p in parts)
    ] or [name for name in linear if calls[name][2] in sizes]
    # After a convolution positions are averaged or left out: its channels are then the classes.
    last = next(
        (n for n in reversed(convolutions) if any(s[:2] == calls[n][2][:2] for s in sizes)), None
    )
    return names or ([] if last is None else [last])


def _module_list(modules: dict[str, nn.Module | Tensor]) -> str:
    """Return the list of modules with the shapes of their matrices, the last first."""
    texts = [f"{n!r} {tuple(_rows(m, None).shape)}" for n, m in reversed(modules.items())]
    return abridge(texts) or "none"
