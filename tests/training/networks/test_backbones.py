"""Checkpoints of others find their places, or say why not."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from gnc_cli.errors import DataError
from gnc_cli.training.networks.backbones import load_backbone
from gnc_cli.training.networks.encoders import build_encoder

State = dict[str, Tensor]


def _resnet(feature_dim: int | None = 7, **settings: object) -> nn.Module:
    return build_encoder("resnet18", feature_dim=feature_dim, width=0.125, **settings)  # type: ignore[arg-type]


def _checkpoint(model: str = "resnet18", **settings: object) -> State:
    """What the ImageNet network of this width would leave: other values, 20 classes."""
    settings = {"width": 0.125, "stem": "imagenet", "feature_dim": 20, "seed": 5, **settings}
    state = build_encoder(model, **settings).state_dict()  # type: ignore[arg-type]
    for name, tensor in state.items():
        if name.endswith("running_mean"):
            tensor += 0.25
    return state


@pytest.mark.parametrize("model", ["cnn", "resnet18", "densenet121"])
def test_the_last_layer_and_a_stem_of_another_shape_are_left_out(model: str) -> None:
    state = _checkpoint(model)
    first, last = ("conv1", "fc") if model != "densenet121" else ("features.conv0", "classifier")
    small = build_encoder(model, width=0.125, feature_dim=7)
    left_out = load_backbone(small, state)
    assert left_out == [f"{first}.weight", f"{last}.weight", f"{last}.bias"]
    own = small.state_dict()
    assert all(torch.equal(own[name], state[name]) for name in own if name not in left_out)
    assert torch.equal(
        own[f"{first}.weight"],
        build_encoder(model, width=0.125, feature_dim=7).state_dict()[f"{first}.weight"],
    )


def test_the_same_network_is_loaded_whole_and_pooled_features_need_no_last_layer() -> None:
    state = _checkpoint()
    for feature_dim in (20, None):
        encoder = _resnet(feature_dim, stem="imagenet")
        assert load_backbone(encoder, state) == []
        own = encoder.state_dict()
        assert all(torch.equal(own[name], state[name]) for name in own)


@pytest.mark.parametrize("prefix", ["module.", "encoder.", "module.backbone.", "module.encoder_q."])
def test_prefixes_are_stripped_and_what_lies_elsewhere_is_not_ours(prefix: str) -> None:
    state = _checkpoint()
    found = {prefix + name: tensor for name, tensor in state.items()}
    found |= {"head.weight": torch.zeros(4, 20), "step": torch.zeros(1)}
    if "encoder_q" in prefix:
        # MoCo: a key network with other values, a queue, and two layers where ours has one.
        found |= {f"module.encoder_k.{name}": tensor + 1 for name, tensor in state.items()}
        found |= {"module.queue": torch.zeros(3, 5), "module.queue_ptr": torch.zeros(1)}
        for entry in ("weight", "bias"):
            found[f"{prefix}fc.0.{entry}"] = found.pop(f"{prefix}fc.{entry}")
            found[f"{prefix}fc.2.{entry}"] = torch.zeros(4)
    encoder = _resnet(stem="imagenet")
    assert load_backbone(encoder, found) == ["fc.weight", "fc.bias"]
    assert torch.equal(
        encoder.state_dict()["layer3.0.conv1.weight"], state["layer3.0.conv1.weight"]
    )


def test_counters_are_optional_and_half_precision_is_converted() -> None:
    state = _checkpoint()
    half = {name: tensor.half() for name, tensor in state.items() if "num_batches" not in name}
    encoder = _resnet(stem="imagenet")
    assert load_backbone(encoder, half) == ["fc.weight", "fc.bias"]
    found = encoder.state_dict()["layer4.1.conv2.weight"]
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, state["layer4.1.conv2.weight"], atol=1e-3, rtol=1e-3)


def test_old_densenet_names_with_dots() -> None:
    def old(name: str) -> str:
        for part in ("norm1", "norm2", "conv1", "conv2"):
            if "denselayer" in name:
                name = name.replace(f".{part}.", f".{part[:-1]}.{part[-1]}.")
        return name

    state = _checkpoint("densenet121")
    found = {old(name): tensor for name, tensor in state.items() if "num_batches" not in name}
    assert "features.denseblock1.denselayer1.norm.1.running_mean" in found
    encoder = build_encoder("densenet121", width=0.125, stem="imagenet", feature_dim=7)
    assert load_backbone(encoder, found) == ["classifier.weight", "classifier.bias"]
    own = encoder.state_dict()
    assert all(torch.equal(own[name], state[name]) for name in own if "classifier" not in name)


def _without(state: State) -> State:
    return {name: tensor for name, tensor in state.items() if not name.startswith("layer2.1")}


def _deeper(state: State) -> State:
    # A ResNet-34 has all that a ResNet-18 has, in the same shapes, and more.
    return {**state, "layer1.2.conv1.weight": state["layer1.1.conv1.weight"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without, r"has no layer2\.1\.conv1\.weight, layer2\.1\.bn1\.weight, .* and \d+ more"),
        (_deeper, r"no place for layer1\.2\.conv1\.weight"),
        (lambda state: _checkpoint(width=0.25), r"bn1\.weight is \(16,\) in .* and \(8,\)"),
        (lambda state: {"a.b": torch.zeros(1)}, r"no name in the checkpoint \(a\.b\)"),
        (lambda state: {}, "no name in the checkpoint"),
        (
            lambda state: {**state, "conv1.weight": torch.zeros(8, 1, 7, 7)},
            "takes images of 1 channels, these have 3",
        ),
    ],
)
def test_another_network_is_refused_and_nothing_changes(
    change: Callable[[State], State], message: str
) -> None:
    encoder = _resnet(stem="imagenet")
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    with pytest.raises(DataError, match=message) as raised:
        load_backbone(encoder, change(_checkpoint()))
    assert "\n" not in str(raised.value)
    assert all(torch.equal(before[name], own) for name, own in encoder.state_dict().items())


def test_running_statistics_have_no_place_in_a_network_of_group_norms() -> None:
    with pytest.raises(DataError, match=r"no place .* bn1\.running_mean.* --norm"):
        load_backbone(_resnet(norm="group", stem="imagenet"), _checkpoint())
