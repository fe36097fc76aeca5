"""Every network by name: shapes, gradients, seeds, layouts, and what is refused."""

import copy

import pytest
import torch
from torch import nn

from gnc_cli.errors import UsageError
from gnc_cli.networks.encoders import ENCODERS, build_encoder
from gnc_cli.networks.normalisation_layers import NORMS


@pytest.mark.parametrize("model", ENCODERS)
@pytest.mark.parametrize(
    ("stem", "channels", "size"), [("small", 1, 17), ("small", 3, 8), ("imagenet", 3, 45)]
)
def test_features_have_the_shape_asked_for(model: str, stem: str, channels: int, size: int) -> None:
    for feature_dim in (5, None):
        encoder = build_encoder(
            model,
            channels=channels,
            image_size=size,
            feature_dim=feature_dim,
            stem=stem,
            width=0.25,
        )
        with torch.no_grad():
            features = encoder.eval()(torch.zeros(2, channels, size, size))
        assert features.shape == (2, feature_dim or encoder.feature_dim)
    pooled = {"cnn": 64, "resnet18": 128, "densenet121": 256}
    assert features.shape[1] == pooled.get(model, 512)


@pytest.mark.parametrize("model", ENCODERS)
@pytest.mark.parametrize("norm", NORMS)
def test_gradients_reach_every_parameter(model: str, norm: str) -> None:
    encoder = build_encoder(model, image_size=16, feature_dim=4, width=0.125, norm=norm)
    generator = torch.Generator().manual_seed(3)
    images = torch.randn(4, 3, 16, 16, generator=generator)
    encoder(images).square().sum().backward()
    without = [name for name, p in encoder.named_parameters() if p.grad is None or not p.grad.any()]
    assert without == []
    assert all(p.grad is not None and p.grad.isfinite().all() for p in encoder.parameters())
    kinds = {"batch": nn.BatchNorm2d, "group": nn.GroupNorm, "none": ()}
    found = [layer for layer in encoder.modules() if "Norm" in type(layer).__name__]
    assert all(isinstance(layer, kinds[norm]) for layer in found) and bool(found) == (
        norm != "none"
    )


@pytest.mark.parametrize("model", ["cnn", "densenet121"])
def test_group_norm_and_no_norm_treat_every_image_alone(model: str) -> None:
    generator = torch.Generator().manual_seed(3)
    images = torch.randn(4, 3, 16, 16, generator=generator, dtype=torch.float64)
    for norm in NORMS:
        encoder = build_encoder(model, image_size=16, feature_dim=4, width=0.25, norm=norm)
        with torch.no_grad():
            together = encoder.double().train()(images)
            apart = torch.cat([encoder(part) for part in images.split(2)])
        assert torch.allclose(together, apart) == (norm != "batch")


@pytest.mark.parametrize("model", ["cnn", "resnet18", "densenet121"])
def test_one_seed_one_network_and_the_global_stream_is_untouched(model: str) -> None:
    before = torch.random.get_rng_state()
    first, again, other = (
        build_encoder(model, width=0.125, feature_dim=4, seed=seed) for seed in (7, 7, 8)
    )
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.rand(3)
    later = build_encoder(model, width=0.125, feature_dim=4, seed=7)
    states = [encoder.state_dict() for encoder in (again, later)]
    for name, tensor in first.state_dict().items():
        assert all(torch.equal(tensor, state[name]) for state in states)
    different = [
        not torch.equal(parameter, other.get_parameter(name))
        for name, parameter in first.named_parameters()
        if parameter.ndim == 4
    ]
    assert different and all(different)


@pytest.mark.parametrize("model", ENCODERS)
def test_layouts_and_synchronised_norms_give_the_same_features(model: str) -> None:
    encoder = build_encoder(model, image_size=16, feature_dim=4, width=0.125).double().eval()
    generator = torch.Generator().manual_seed(3)
    images = torch.randn(2, 3, 16, 16, generator=generator, dtype=torch.float64)
    last = copy.deepcopy(encoder).to(memory_format=torch.channels_last)
    synchronised = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(encoder))
    assert any(isinstance(layer, nn.SyncBatchNorm) for layer in synchronised.modules())
    assert encoder.state_dict().keys() == synchronised.state_dict().keys()
    with torch.no_grad():
        features = encoder(images)
        torch.testing.assert_close(
            last(images.contiguous(memory_format=torch.channels_last)), features
        )
        torch.testing.assert_close(synchronised(images), features)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"model": "resnet19"}, "resnet19: choose from cnn, resnet18"),
        ({"stem": "big"}, "--stem big: choose from auto, small, imagenet"),
        ({"norm": "layer"}, "--norm layer: choose from batch, group, none"),
        ({"width": 0.0}, "--width 0.0"),
        ({"width": float("nan")}, "--width nan"),
        ({"feature_dim": 0}, "feature_dim is 0"),
        ({"channels": 0}, "channels is 0"),
        ({"model": "cnn", "image_size": 7}, "small stem needs images of 8 pixels"),
        (
            {"model": "densenet121", "stem": "imagenet", "image_size": 28},
            "imagenet stem needs images of 29 pixels or more, these have 28",
        ),
    ],
)
def test_what_cannot_be_built_is_refused_in_one_line(
    wrong: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        build_encoder(**{"model": "resnet18", "feature_dim": 4, **wrong})  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(("stem", "size"), [("small", 8), ("imagenet", 29)])
@pytest.mark.parametrize("model", ["cnn", "densenet121"])
def test_the_smallest_images_that_are_allowed_go_through(model: str, stem: str, size: int) -> None:
    encoder = build_encoder(model, image_size=size, stem=stem, width=0.125, feature_dim=3)
    assert encoder.eval()(torch.zeros(1, 3, size, size)).shape == (1, 3)
    with pytest.raises(RuntimeError):
        encoder(torch.zeros(1, 3, size - 1, size - 1))
