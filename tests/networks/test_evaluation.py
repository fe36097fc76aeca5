import torch
from torch import nn

from gnc_cli.networks.device_images import DeviceImages
from gnc_cli.networks.evaluation import evaluate
from tests.networks.fakes import GREY, FakeClassifier, FakeEncoder, FakeHead, fake_images


def _model(place: torch.device) -> FakeClassifier:
    return FakeClassifier(FakeEncoder(norm="batch", dropout=0.5), FakeHead(4, 5)).to(place)


def test_all_rows_in_order_in_eval_mode(place: torch.device) -> None:
    images, _ = fake_images(50)
    model = _model(place)
    with torch.no_grad():
        H = model.eval().features(GREY.apply(torch.from_numpy(images).to(place)))
    model.train()
    model.encoder.layers[1].eval()  # someone's frozen batch norm
    modes = [module.training for module in model.modules()]
    for source in (images, DeviceImages(images, place)):
        at = 0
        for features, rows in evaluate(
            model, source, normalisation=GREY, device=place, batch_size=16
        ):
            assert rows.start == at and not any(m.training for m in model.modules())
            assert torch.is_inference(features) and not torch.is_inference_mode_enabled()
            assert features.dtype == torch.float32 and features.device.type == place.type
            assert torch.allclose(features, H[rows], atol=1e-5)
            at = rows.stop
        assert at == 50
        assert [module.training for module in model.modules()] == modes


def test_some_rows_and_an_early_end(place: torch.device) -> None:
    images, _ = fake_images(50)
    model = _model(place).train()
    found = evaluate(
        model, images, normalisation=GREY, device=place, batch_size=8, rows=range(20, 45)
    )
    slices = [rows for _, rows in found]
    assert slices == [slice(20, 28), slice(28, 36), slice(36, 44), slice(44, 45)]
    stream = evaluate(model, images, normalisation=GREY, device=place, batch_size=8)
    next(stream)
    assert not model.training
    stream.close()
    assert model.training


def test_half_precision_stays_inside_the_encoder(place: torch.device) -> None:
    seen: list[torch.dtype] = []
    model = _model(place)
    last: nn.Module = model.encoder.layers[-1]
    last.register_forward_hook(lambda _m, _i, out: seen.append(out.dtype))
    images, _ = fake_images(6)
    ((features, _),) = evaluate(
        model, images, normalisation=GREY, device=place, batch_size=8, precision="bf16",
        channels_last=True,
    )  # fmt: skip
    assert seen == [torch.bfloat16] and features.dtype == torch.float32
