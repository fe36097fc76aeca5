"""Encoder, head and loss as one module; eval mode for a while."""

import pytest
import torch
from torch import nn

from gnc_cli.training.networks.classifier import EncoderWithHead
from gnc_cli.training.networks.heads import ClassMeanHead, Head, SphereHead
from gnc_cli.training.networks.losses import make_loss

D, K = 4, 6


def _model(head: Head, name: str = "ce", margin: float | None = None) -> EncoderWithHead:
    encoder = nn.Linear(8, D)
    with torch.no_grad():
        encoder.weight.copy_(torch.randn(D, 8, generator=torch.Generator().manual_seed(0)))
    return EncoderWithHead(encoder, head, make_loss(name, tau=head.tau, margin=margin))


def _batch(n: int = 24) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(n, 8, generator=generator), torch.arange(n) % K


def test_losses_right_answers_and_gradients_are_those_of_plain_torch(place: torch.device) -> None:
    model = _model(SphereHead(D, K)).to(place)
    images, labels = (tensor.to(place) for tensor in _batch())
    with torch.no_grad():
        model.head.weight.mul_(3.0)
    losses, right = model(images, labels)
    losses.mean().backward()
    got = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    W = model.head.weight.detach().clone().requires_grad_()
    cosines = nn.functional.normalize(model.features(images)) @ nn.functional.normalize(W).T
    plain = nn.functional.cross_entropy(cosines / model.head.tau, labels, reduction="none")
    plain.mean().backward()
    torch.testing.assert_close(losses, plain)
    torch.testing.assert_close(got["head.weight"], W.grad)
    torch.testing.assert_close(got["encoder.weight"], model.encoder.weight.grad)
    assert torch.equal(right, cosines.argmax(dim=1) == labels) and right.dtype == torch.bool
    assert 0 < right.sum() < len(labels)


def test_class_means_are_absorbed_in_training_before_the_scores() -> None:
    head, (images, labels) = ClassMeanHead(D, K, beta=0.0), _batch(K)
    model = _model(head)
    model.eval()(images, labels)
    assert torch.equal(head.weight, ClassMeanHead(D, K).weight)
    _, right = model.train()(images, labels)
    units = nn.functional.normalize(model.features(images))
    torch.testing.assert_close(head.weight, units.detach())
    assert right.all()  # each class is its one sample


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_encoder_alone_runs_in_low_precision(dtype: torch.dtype, place: torch.device) -> None:
    model = _model(SphereHead(D, K), "arcface", 0.5).to(place)
    images, labels = (tensor.to(place) for tensor in _batch())
    seen = []
    model.encoder.register_forward_hook(lambda *got: seen.append(got[-1].dtype))
    with torch.autocast(place.type, dtype):
        features = model.features(images)
        losses, _ = model(images, labels)
    assert set(seen) == {dtype} and features.dtype == losses.dtype == torch.float32
    losses.mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
