"""`measure_model`: a network and a loader give what `measure` finds in the features by hand."""

import json
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from gnc_cli import measure, measure_model
from gnc_cli.collapse import measure_model as module
from gnc_cli.errors import DataError, UsageError
from gnc_cli.training.networks.heads import SphereHead
from tests.runtime.together import needs_gloo, together

N, K, D = 60, 5, 4
Batches = list[tuple[Tensor, Tensor]]


class Network(nn.Module):
    """Layers that differ in eval mode, and a head that is not called the last."""

    def __init__(self, after: Callable[[Tensor], Any] = lambda logits: logits) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.head = nn.Linear(D, K)
        self.encoder = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.5))
        self.neck = nn.Linear(8, D)
        self.after = after
        self.double()  # float32 rounds differently in batches of other sizes

    def forward(self, inputs: Tensor, labels: Tensor | None = None) -> Any:
        return self.after(self.head(self.neck(self.encoder(inputs))))


def batches(n: int = 16) -> Batches:
    """All samples in batches of n."""
    generator = torch.Generator().manual_seed(4)
    labels = torch.arange(N) % K
    images = torch.randn(K, 6, generator=generator, dtype=torch.float64)[labels]
    images += 0.4 * torch.randn(N, 6, generator=generator, dtype=torch.float64)
    return list(zip(images.split(n), labels.split(n), strict=True))


def by_hand(network: Any, samples: Batches) -> dict[str, Any]:
    """What `measure` finds in the features, less where they are from."""
    images, labels = (torch.cat(parts) for parts in zip(*samples, strict=True))
    modes = {m: m.training for m in network.modules()}
    network.eval()
    features = network.neck(network.encoder(images)).detach()
    for m, training in modes.items():
        m.training = training
    head = network.head
    found: Any = measure(
        features=features, labels=labels, weights=head.weight, bias=head.bias, device="cpu"
    )
    return flat(found)


def flat(result: Any) -> dict[str, Any]:
    """What `measure_model` and `measure` both give, by key."""
    left_out = ("seconds", "layer", "features", "head_accuracies")
    warnings = tuple(w for w in result.warnings if "is that of a linear head" not in w)
    values = replace(result, warnings=warnings).flat("")
    return {k: v for k, v in values.items() if k.partition(".")[0] not in left_out}


def agree(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        close = pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value
        assert found[name] == close, name


def test_the_record_of_measure_and_a_network_as_it_was() -> None:
    network, samples = Network(), batches()
    network.encoder[1].eval()  # frozen statistics
    modes = [m.training for m in network.modules()]
    state = torch.get_rng_state()
    result = measure_model(network, samples)
    assert result.layer == "head" and result.N == N
    agree(flat(result), by_hand(network, samples))
    assert [m.training for m in network.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    _without_hooks(network)
    assert all(p.grad is None and p.requires_grad for p in network.parameters())


def _without_hooks(network: nn.Module) -> None:
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in network.modules())


@pytest.mark.parametrize("keeps", [True, False])
def test_a_shuffled_loader_is_the_same_set_in_both_passes(
    monkeypatch: pytest.MonkeyPatch, keeps: bool
) -> None:
    samples = batches()
    images, labels = (torch.cat(parts) for parts in zip(*samples, strict=True))
    loader = DataLoader(TensorDataset(images, labels), batch_size=7, shuffle=True)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 300)
    if not keeps:
        monkeypatch.setattr(module, "_KEPT_BYTES", 0)
    network = Network()
    state = torch.get_rng_state()
    agree(flat(measure_model(network, loader)), by_hand(network, samples))
    assert torch.equal(torch.get_rng_state(), state)


def test_an_iterator_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    network, samples = Network(), batches()
    agree(flat(measure_model(network, iter(samples))), by_hand(network, samples))
    monkeypatch.setattr(module, "_KEPT_BYTES", 0)
    with pytest.raises(UsageError, match="only once"):
        measure_model(network, iter(samples))


@pytest.mark.parametrize(
    "after",
    [
        lambda logits: logits.log_softmax(dim=1),
        lambda logits: 10.0 * logits,
        lambda logits: {"logits": logits},
        lambda logits: (None, logits),
    ],
)
def test_the_head_is_the_layer_behind_the_logits(after: Callable[[Tensor], Any]) -> None:
    network = Network(after)
    agree(flat(measure_model(network, batches())), by_hand(network, batches()))


class Convolutional(nn.Module):
    """The network of `Network`, with its layers as convolutions."""

    def __init__(self, pixels: int = 1) -> None:
        super().__init__()
        self.plain = Network()
        self.pixels = pixels
        self.neck, self.head = (
            self._as_convolution(layer) for layer in (self.plain.neck, self.plain.head)
        )

    @staticmethod
    def _as_convolution(layer: nn.Linear) -> nn.Conv2d:
        same = nn.Conv2d(layer.in_features, layer.out_features, 1).double()
        state = layer.state_dict()
        same.load_state_dict(
            {k: v.reshape(*v.shape, 1, 1) if k == "weight" else v for k, v in state.items()}
        )
        return same

    def forward(self, inputs: Tensor) -> Tensor:
        maps = self.plain.encoder(inputs)[:, :, None, None].expand(-1, -1, self.pixels, 1)
        return self.head(self.neck(maps)).mean(dim=(2, 3))


def test_a_convolution_on_one_place_is_a_head() -> None:
    network = Convolutional()
    for head in (None, "head", network.head):
        result = measure_model(network, batches(), head)
        assert result.layer == "head"
        agree(flat(result), by_hand(network.plain, batches()))
    with pytest.raises(DataError, match=r"head 'head' is a convolution on a map of shape \(2, 1\)"):
        measure_model(Convolutional(pixels=2), batches())
    _without_hooks(network)


def test_batches_of_other_kinds() -> None:
    network = Network()
    expected = by_hand(network, batches())
    kinds: dict[str, Callable[[Tensor, Tensor], Any]] = {
        "index": lambda x, y: (x, y, torch.arange(len(y)) + 100),
        "labels": lambda x, y: {"pixel_values": x, "labels": y},
        "label": lambda x, y: {"image": x, "label": y, "path": ["a.png"] * len(y)},
        "y": lambda x, y: {"x": x, "y": y},
    }
    for kind in kinds.values():
        found = measure_model(network, [kind(x, y) for x, y in batches()])
        agree(flat(found), expected)
    nested = [{"views": {"left": x}, "meta": [0, y]} for x, y in batches()]
    with pytest.raises(DataError, match="give batch_to=lambda batch: \\(INPUTS, LABELS\\)"):
        measure_model(network, nested)
    with pytest.raises(
        DataError, match=r"got Tensor \(a loader of one batch is \[\(inputs, labels\)"
    ):
        measure_model(network, next(iter(batches())))
    found = measure_model(network, nested, batch_to=lambda b: (b["views"]["left"], b["meta"][1]))
    agree(flat(found), expected)


@pytest.mark.parametrize(
    "kind",
    [
        lambda x, y: (x.numpy(), y.numpy()),
        lambda x, y: (x.numpy().astype(">f8")[::-1], y.numpy()[::-1]),
        lambda x, y: [x.tolist(), y.tolist()],
        lambda x, y: {"inputs": x.numpy(), "y": y.numpy()},
        lambda x, y: (x, y[:, None].double()),
        lambda x, y: (x.float().double().numpy().astype(np.float32), y.float()),
    ],
)
def test_arrays_and_lists_become_tensors(kind: Callable[[Tensor, Tensor], Any]) -> None:
    network, samples = Network(), [(x.float().double(), y) for x, y in batches()]
    found = measure_model(network, [kind(x, y) for x, y in samples])
    agree(flat(found), by_hand(network, samples))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_inputs_have_the_dtype_of_the_model(dtype: torch.dtype) -> None:
    network = Network().to(dtype)
    expected = measure_model(network, [(x.to(dtype), y) for x, y in batches()])
    for as_given in (batches(), [(x.numpy(), y.numpy()) for x, y in batches()]):
        found = flat(measure_model(network, as_given))
        assert found == pytest.approx(flat(expected), nan_ok=True)
    network.head.float()  # a model of two dtypes is given what the loader gives
    with pytest.raises(RuntimeError, match="dtype"):
        measure_model(network, batches())


class OneLogit(Network):
    """A network for two classes, trained with binary cross-entropy."""

    def __init__(self, after: Callable[[Tensor], Any]) -> None:
        super().__init__(after)
        self.head = nn.Linear(D, 1).double()


@pytest.mark.parametrize("after", [lambda z: z, lambda z: z.squeeze(1), torch.sigmoid])
@pytest.mark.parametrize("label", [lambda y: y, lambda y: y[:, None].float()])
def test_one_logit_decides_between_two_classes(
    after: Callable[[Tensor], Any], label: Callable[[Tensor], Tensor]
) -> None:
    network = OneLogit(after).eval()
    result = measure_model(network, [(x, label(y % 2)) for x, y in batches()])
    images, labels = (torch.cat(parts) for parts in zip(*batches(), strict=True))
    features = network.neck(network.encoder(images)).detach()
    w, b = network.head.weight.detach(), network.head.bias.detach()
    W, biases = torch.cat((-w, w)) / 2, torch.cat((-b, b)) / 2
    arrays: dict[str, Any] = {"features": features, "labels": labels % 2}
    agree(flat(result), flat(measure(**arrays, weights=w, bias=b)))
    expected: Any = measure(**arrays, weights=W, bias=biases)
    agree(flat(replace(result, notes=())), flat(expected))
    right = (network.head(features)[:, 0] > 0) == (labels % 2 == 1)
    assert (result.K, result.accuracy) == (2, right.double().mean().item())
    assert any("rows -w/2 and w/2" in note for note in result.notes)
    with pytest.raises(DataError, match="label 4 is out of range; expected 0 to 1"):
        measure_model(network, batches())


class Functional(Network):
    """Multiplies its features by a parameter that no layer owns."""

    def __init__(self, logits: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.W, self.b = nn.Parameter(self.head.weight), nn.Parameter(self.head.bias)
        self.head, self.logits = nn.Identity(), logits  # type: ignore[assignment]

    def forward(self, inputs: Tensor, labels: Tensor | None = None) -> Any:
        return self.logits(super().forward(inputs), self.W, self.b)


@pytest.mark.parametrize(
    ("logits", "linear"),
    [
        (nn.functional.linear, True),
        (lambda h, W, b: nn.functional.linear(h, weight=W, bias=b), True),
        (lambda h, W, b: nn.functional.linear(h, W) + b, False),
        (lambda h, W, b: h @ W.T + b, False),
        (lambda h, W, b: torch.addmm(b, h, W.T) * 0 + torch.matmul(h, W.t()) + b, False),
    ],
)
def test_a_parameter_is_the_head(logits: Callable[..., Tensor], linear: bool) -> None:
    network = Functional(logits)
    with pytest.raises(UsageError, match="name it: head='W'"):
        measure_model(network, batches())
    with pytest.raises(UsageError, match="give head='W'"):
        measure_model(network, batches(), weights="W")
    expected = by_hand(Network(), batches())
    for head in ("W", network.W):
        result = measure_model(network, batches(), head)
        assert result.layer == "W"
        found = flat(result)
        if linear:
            agree(found, expected)
        for name in ("accuracy", "gnc1", "gnc3", "ncc_accuracy"):
            assert found[name] == pytest.approx(expected[name], abs=1e-9)
    network.unused = nn.Parameter(torch.ones(K, D))
    with pytest.raises(DataError, match="'unused' 0 times"):
        measure_model(network, batches(), "unused")


def test_a_dictionary_that_the_network_does_not_take() -> None:
    named = [{"left": x, "right": x, "labels": y} for x, y in batches()]
    with pytest.raises(DataError, match="Network cannot be called .* names left, right .*batch_to"):
        measure_model(Network(), named)

    class Wrong(Network):
        def forward(self, inputs: Tensor, labels: Tensor | None = None) -> Any:
            raise TypeError("of the network itself")

    with pytest.raises(TypeError, match="of the network itself"):
        measure_model(Wrong(), [{"inputs": x, "labels": y} for x, y in batches()])


def test_of_two_heads_the_one_with_as_many_rows_as_labels() -> None:
    class Both(Network):
        def forward(self, inputs: Tensor, labels: Tensor | None = None) -> Any:
            features = self.neck(self.encoder(inputs))
            return features, self.head(features)

    for loader in (batches(), DataLoader(batches(), batch_size=None, shuffle=True)):
        agree(flat(measure_model(Both(), loader)), by_hand(Both(), batches()))
    with pytest.raises(UsageError, match="read only once"):
        measure_model(Both(), iter(batches()))
    agree(flat(measure_model(Both(), iter(batches()), "head")), by_hand(Both(), batches()))
    few = [(images, labels % 3) for images, labels in batches()]
    with pytest.raises(UsageError, match="2 .* may be the last, and 0 of them .* 3 classes"):
        measure_model(Both(), few)


def test_several_linear_layers_without_an_obvious_head_are_listed() -> None:
    def compared(logits: Tensor) -> Tensor:
        return logits[:, :1]

    with pytest.raises(UsageError, match="plainly the last") as error:
        measure_model(Network(compared), batches())
    for part in ("3 linear layer(s), ", "'neck' (4, 8)", "'head' (5, 4)", "head='neck'"):
        assert part in str(error.value)
    network = Network(compared)
    for head in ("head", network.head):
        assert measure_model(network, batches(), head).layer == "head"
    with pytest.raises(UsageError, match="has 0 linear layer\\(s\\)"):
        measure_model(nn.Flatten(), batches())


@pytest.mark.parametrize("head", ["fc", "encoder", "encoder.1", nn.Linear(D, K), 3])
def test_no_such_head(head: Any) -> None:
    with pytest.raises(UsageError, match="no layer of the model.*'neck'"):
        measure_model(Network(), batches(), head)


@pytest.mark.parametrize(
    ("loader", "match"),
    [
        ([], "no batch"),
        ([torch.ones(3, 6).double()], "got Tensor"),
        ([(torch.ones(3, 6).double(),)], "1 parts"),
        ([{"inputs": torch.ones(3, 6).double()}], "got \\['inputs'\\]"),
        ([(torch.ones(3, 6).double(), torch.tensor([0, 1, 7]))], "label 7 is out of range"),
        ([(torch.ones(3, 6).double(), torch.eye(3))], "labels"),
        ([(torch.ones(3, 6).double(), ["cat", "dog", "cow"])], "labels must be an array"),
        ([(torch.full((3, 6), torch.nan).double(), torch.tensor([0, 1, 2]))], "NaN"),
    ],
)
def test_bad_batches_leave_the_network_as_it_was(loader: Any, match: str) -> None:
    network = Network()
    with pytest.raises(DataError, match=match):
        measure_model(network, loader)
    assert all(m.training for m in network.modules())
    _without_hooks(network)


def test_what_is_no_network_or_loader() -> None:
    with pytest.raises(UsageError, match="torch.nn.Module"):
        measure_model(torch.tanh, batches())  # type: ignore[arg-type]


def test_a_head_that_is_called_twice_or_never() -> None:
    network = Network()
    twice = nn.Sequential(network.neck, nn.Linear(D, 8).double())
    network.encoder.append(twice)
    with pytest.raises(DataError, match="'neck' 2 times"):
        measure_model(network, batches(), "neck")
    network.unused = nn.Linear(D, K)
    with pytest.raises(DataError, match="'unused' 0 times"):
        measure_model(network, batches(), "unused")


def test_another_kind_of_head_is_judged_by_its_logits() -> None:
    network = Network()
    network.head = SphereHead(D, K, tau=0.1)  # type: ignore[assignment]
    result = measure_model(network, batches())
    images, labels = (torch.cat(parts) for parts in zip(*batches(), strict=True))
    network.eval()
    right = network(images).argmax(dim=1) == labels
    assert result.accuracy == right.double().mean().item()
    assert result.policy.spaces["accuracy"] == "logits" and result.layer == "head"


class Embedding(Network):
    """Gives features; the classifier of an ArcFace loss lies beside it, as (d, K) or (K, d)."""

    def __init__(self, rows: bool) -> None:
        super().__init__()
        weight = self.head.weight.detach()
        self.head = nn.Module()  # type: ignore[assignment]
        self.head.W = nn.Parameter(weight.clone() if rows else weight.T.clone())

    def forward(self, inputs: Tensor, labels: Tensor | None = None) -> Any:
        return self.neck(self.encoder(inputs))


def fewer(k: int = 3) -> Batches:
    return [(images, labels % k) for images, labels in batches()]


def test_the_last_layer_of_an_embedding_is_doubted() -> None:
    result = measure_model(Embedding(rows=True), fewer())
    assert (result.layer, result.K) == ("neck", D)
    (warning,) = (w for w in result.warnings if "'neck' has 4 rows" in w)
    assert "labels run from 0 to 2" in warning and "weights=W (3, 4)" in warning
    (warning, *_) = measure_model(_with_W(3), fewer()).warnings
    assert "such as its own 'head.W' (3, 4)" in warning
    assert not any("rows, and" in w for w in measure_model(Network(), batches()).warnings)
    named = measure_model(Network(), fewer(), "head")
    assert not any("rows, and" in w for w in named.warnings)


def _with_W(K: int) -> Embedding:
    network = Embedding(rows=True)
    network.head.W = nn.Parameter(torch.eye(K, D).double())
    return network


def test_weights_of_an_embedding() -> None:
    network, samples = Embedding(rows=True), batches()
    images, labels = (torch.cat(parts) for parts in zip(*samples, strict=True))
    features = network.eval()(images).detach()
    W = network.head.W
    expected: Any = measure(features=features, labels=labels, weights=W)
    for weights in (W, W.detach().numpy(), W.tolist(), "head.W"):
        agree(flat(measure_model(network, samples, weights=weights)), flat(expected))
    inner = measure_model(Network(), samples, "head", weights=W)
    agree(flat(inner), flat(expected))
    means: Any = measure(features=features, labels=labels)
    agree(flat(measure_model(network, samples, weights="means")), flat(means))
    with pytest.raises(UsageError, match=r"shape \(4, 5\) is no .*\(stored as \(d, K\)"):
        measure_model(Embedding(rows=False), samples, weights="head.W")
    lonely = Network(lambda logits: SimpleNamespace(logits=logits))
    with pytest.raises(DataError, match="the model has no tensor of features"):
        measure_model(lonely, samples, weights="means")
    with pytest.raises(UsageError, match="weights='head.w' is no classifier of d = 4"):
        measure_model(network, samples, weights="head.w")


@pytest.mark.parametrize("rows", [True, False])
def test_a_cosine_head_with_a_matrix_of_any_name(rows: bool) -> None:
    class Cosine(nn.Module):
        def __init__(self, weight: Tensor) -> None:
            super().__init__()
            self.prototypes = nn.Parameter(weight if rows else weight.T.clone())

        def forward(self, x: Tensor) -> Tensor:
            unit = nn.functional.normalize
            W = self.prototypes if rows else self.prototypes.T
            return 30.0 * unit(x) @ unit(W).T

    network = Network()
    W = network.head.weight.detach()
    network.head = Cosine(W)  # type: ignore[assignment]
    result = measure_model(network, batches())
    images, labels = (torch.cat(parts) for parts in zip(*batches(), strict=True))
    features = network.eval().neck(network.encoder(images))
    expected: Any = measure(features=features, labels=labels, weights=W)
    right = network(images).argmax(dim=1) == labels
    assert result.accuracy == right.double().mean().item() and result.layer == "head"
    assert (result.gnc2, result.gnc3) == (expected.gnc2, pytest.approx(expected.gnc3))
    with pytest.raises(UsageError, match="'head' \\(" + ("5, 4" if rows else "4, 5")):
        measure_model(network, batches(), "encoder")


class TinyForCausalLM(nn.Module):
    """Labels are the tokens themselves, as transformers has it."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.embedding, self.lm_head = nn.Embedding(K, D), nn.Linear(D, K)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.lm_head(self.embedding(tokens).cumsum(dim=1))


class TinyTagger(TinyForCausalLM):
    """Labels are of the tokens."""


def test_tokens() -> None:
    generator = torch.Generator().manual_seed(6)
    tokens = torch.randint(K, (12, 9), generator=generator)
    labels = tokens.clone()
    labels[:, 7:] = -100
    network = TinyForCausalLM()
    features = network.embedding(tokens).cumsum(dim=1).detach()
    head = network.lm_head
    for kind, x, y in (
        (TinyForCausalLM, features[:, :-1], labels[:, 1:]),
        (TinyTagger, features, labels),
    ):
        keep = y != -100
        expected: Any = measure(
            features=x[keep], labels=y[keep], weights=head.weight, bias=head.bias
        )
        result = measure_model(kind(), [(tokens, labels)])
        assert result.N == int(keep.sum())
        agree(flat(result), flat(expected))


def test_compiled() -> None:
    network = Network()
    compiled: Any = torch.compile(network, backend="eager")
    agree(flat(measure_model(compiled, batches())), by_hand(network, batches()))


def test_a_device_of_its_own(device: str) -> None:
    network = Network()
    result = measure_model(network, batches(), device=device)
    agree(flat(result), by_hand(network, batches()))
    assert {p.device.type for p in network.parameters()} == {"cpu"}
    with pytest.raises(UsageError, match="device"):
        measure_model(network, batches(), device="tpu")


@needs_gloo
def test_two_processes_stream_their_parts() -> None:
    told = together(
        """
        import json
        import torch
        import torch.distributed as dist
        from gnc_cli import measure_model
        from gnc_cli.errors import DataError
        from tests.collapse.test_measure_model import Network, batches, flat
        dist.init_process_group("gloo")
        network = torch.nn.parallel.DistributedDataParallel(Network())
        parts = batches(12)[:3] if rank == 0 else batches(12)[3:]
        print(json.dumps(flat(measure_model(network, parts))))
        assert network.training and network.module.training
        wrong = parts if rank == 0 else [(images, labels + 9) for images, labels in parts]
        try:
            measure_model(network, wrong)
        except DataError as error:
            assert "out of range" in str(error)
        dist.destroy_process_group()
        """
    )
    first, second = (json.loads(line) for line in told)
    assert first == second
    expected = json.loads(json.dumps(by_hand(Network(), batches())))
    agree(first, expected)
