"""What a GPU brings: a network's training, the descent for many points, a measurement.

    python -m benchmarks.cost.gpu loop descent measure OUT.json
    python -m benchmarks.cost.gpu b4 OUT.json --fonts DIR --time-limit 240

`loop` sets images a second in bf16 beside those of a bare loop, `descent` the speed of a search
beside that of the same matrix products alone, `measure` a GPU beside the processor. `b4` draws the
glyphs of figure B.4, measures the network before its first step, and trains it for as many of its
epochs as the time limit lets end, counted from the start of the program; all times are printed as
they come. `--classes 60 --device cpu` tries it where no GPU is.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch

from benchmarks.report import machine

K, D = 10_000, 512
"""Classes and dimension of the paper's figure B.4."""


def _seconds(work: Callable[[], object], rounds: int = 5) -> float:
    """Median time of `work`, the device's queue empty before and after; once more to warm up."""
    times = []
    for _ in range(rounds + 1):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    return statistics.median(times[1:])


def loop() -> dict[str, Any]:
    """An epoch of ResNet18 over 51,200 grey images of 32 x 32 in bf16, and a bare loop's."""
    from gnc_cli.runtime.distributed import Processes
    from gnc_cli.training.networks.batches import Augmentation, Batches, channel_statistics
    from gnc_cli.training.networks.classifier import EncoderWithHead
    from gnc_cli.training.networks.encoders import build_encoder
    from gnc_cli.training.networks.heads import SphereHead
    from gnc_cli.training.networks.losses import make_loss
    from gnc_cli.training.networks.training import Training
    from gnc_cli.training.settings import Recipe

    gpu, generator, size = torch.device("cuda", 0), np.random.default_rng(0), 512
    images = generator.integers(0, 256, (100 * size, 1, 32, 32), dtype=np.uint8)
    labels = generator.integers(0, K, len(images))
    recipe = Recipe(epochs=100, batch_size=size, optimizer="sgd", lr=0.1, precision="bf16")
    batches = Batches(
        images,
        labels,
        batch_size=size,
        seed=0,
        normalisation=channel_statistics(images),
        augmentation=Augmentation(),
        device=gpu,
    )
    ours, plain = (
        EncoderWithHead(
            build_encoder("resnet18", channels=1, image_size=32, feature_dim=D),
            SphereHead(D, K),
            make_loss("ce", tau=0.05),
        )
        for _ in range(2)
    )
    plain = plain.to(gpu).to(memory_format=torch.channels_last)
    training = Training(ours, batches, recipe, processes=Processes(), device=gpu)
    prepared = [(batch.images, batch.labels) for batch in batches.epoch(0)]
    optimizer = torch.optim.SGD(plain.parameters(), lr=0.1, momentum=0.9)

    def whole() -> None:
        for _ in training.steps():
            pass
        training.settle()

    def bare() -> None:
        plain.train()
        for inputs, classes in prepared:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", torch.bfloat16):
                losses = plain(inputs, classes)[0]
            losses.mean().backward()
            optimizer.step()

    speeds = {"gnc": len(images) / _seconds(whole), "bare": len(images) / _seconds(bare)}
    return {name: round(speed) for name, speed in speeds.items()}


def descent() -> dict[str, Any]:
    """Steps a second at (512, 10,000) beside a product and its two of the way back alone."""
    from gnc_cli.search.instance import Instance, Machine, Plan
    from gnc_cli.search.large_scale import solve_large

    def run(steps: int) -> tuple[float, Any]:
        begun = time.perf_counter()
        solution = solve_large(Instance(d=D, K=K), Plan(steps=steps), Machine(device="cuda"))
        return time.perf_counter() - begun, solution

    run(20)
    short, long = run(50), run(550)
    W = torch.randn(K, D, device="cuda")
    gram = torch.empty(K, K, device="cuda")
    product = _seconds(lambda: torch.mm(W, W.T, out=gram)) + 2 * _seconds(lambda: gram @ W)
    steps_per_second = 500 / (long[0] - short[0])
    return {
        "steps_per_second": steps_per_second,
        "share_of_products": steps_per_second * product,
        "seconds": long[0],
        "max_cosine": float(long[1].row_maxima.max()),
    }


def measure() -> dict[str, Any]:
    """A million features of 256 dimensions, 1,000 classes, from a file."""
    from gnc_cli import measure as measured

    generator = np.random.default_rng(0)
    W = generator.standard_normal((1000, 256), dtype=np.float32)
    labels = generator.integers(0, 1000, 1_000_000)
    features = W[labels] + generator.standard_normal((len(labels), 256), dtype=np.float32)
    answers = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "million.npz"
        np.savez(file, features=features, labels=labels, weights=W)
        for device in ("cpu", "cuda"):
            seconds = []
            for _ in range(3):
                begun = time.perf_counter()
                result = measured(str(file), device=device)
                seconds.append(time.perf_counter() - begun)
            answers[device] = {
                "seconds": statistics.median(seconds),
                "gnc1": result.gnc1,
                "gnc3": result.gnc3,
                "ncc_accuracy": result.ncc_accuracy,
                "accuracy": result.accuracy,
            }
    return answers


def b4(asked: argparse.Namespace) -> dict[str, Any]:
    """Figure B.4 at tau 1/20 as far as the time goes: drawing, epoch 0, the epochs after it."""
    from gnc_cli import train
    from gnc_cli.runtime.distributed import Processes
    from gnc_cli.runtime.threads import limit_threads, resolve_device
    from gnc_cli.training.data.load import load_images
    from gnc_cli.training.epochs import EpochRow
    from gnc_cli.training.head import HeadPlan
    from gnc_cli.training.measure import NetworkMeasurer
    from gnc_cli.training.network import build_training, choose_precision, choose_threads
    from gnc_cli.training.settings import settings_of

    answers: dict[str, Any] = {}

    def done(name: str, **values: Any) -> None:
        """Print what there is, and the seconds since the start."""
        values["at"] = time.perf_counter() - _BEGUN
        answers[name] = values
        print(name, json.dumps(values), flush=True)

    data = load_images(
        f"glyphs:{asked.fonts}", classes=asked.classes, image_size=32, script="hangul"
    )
    assert data.test is not None
    done("drawn", train=len(data.train.labels), test=len(data.test.labels), **_short(data.facts))
    options: dict[str, Any] = {
        "data": f"glyphs:{asked.fonts}",
        "script": "hangul",
        "classes": asked.classes,
        "image_size": 32,
        "model": "resnet18",
        "feature_dim": D,
        "tau": 0.05,
        "batch_size": 512,
        "epochs": asked.epochs,
        "measure_every": asked.measure_every,
        "device": asked.device,
    }
    device, settings = resolve_device(asked.device), settings_of(options)
    # As `train` does for itself: the same network, before its first step.
    recipe = replace(
        settings, augment=("crop", "rotate"), precision=choose_precision(device, settings.precision)
    )
    training = build_training(recipe, HeadPlan(D, asked.classes), data, Processes(), device)
    measurer = NetworkMeasurer(training, data)
    done("network", precision=recipe.precision, threads=choose_threads(training, None))
    before = time.perf_counter()
    with limit_threads(choose_threads(training, None)):
        start = measurer.measure()
    assert start.result is not None
    done("epoch 0", seconds=time.perf_counter() - before, **_metrics(start.result))
    del training, measurer

    def note(row: EpochRow) -> None:
        values = {name: getattr(row, name) for name in _OF_EPOCHS}
        done(f"epoch {row.epoch}", **values, **_metrics(row))

    left = asked.time_limit - (time.perf_counter() - _BEGUN)
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch("gnc_cli.training.run.load_images", lambda *_, **__: data),  # drawn above
    ):
        result = train(**options, out=f"{folder}/run", time_limit=left, on_epoch=note)
    values = {} if result.measured is None else _metrics(result.measured)
    done("end", outcome=result.outcome, **values)
    return answers


_BEGUN = time.perf_counter()
_OF_EPOCHS = (
    "loss",
    "seconds",
    "images_per_second",
    "measure_seconds",
    "train_accuracy",
    "test_accuracy",
)


def _metrics(row: Any) -> dict[str, Any]:
    """Return the metrics of figure B.4 of a row or a result; GNC2 by both ends."""
    names = ("gnc1", "gnc1_centred", "gnc3", "gnc3_centred", "ncc_accuracy")
    gnc2 = None if row.gnc2 is None else (row.gnc2.lower, row.gnc2.upper)
    return {"gnc2": gnc2} | {name: getattr(row, name) for name in names}


def _short(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: facts[name] for name in ("characters", "merged", "sha256", "pillow", "freetype")}


PARTS = {"loop": loop, "descent": descent, "measure": measure}


def main() -> None:
    """Parse and go."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="+", choices=(*PARTS, "b4"))
    parser.add_argument("file", type=Path, metavar="OUT.json")
    parser.add_argument("--fonts", type=Path, default=Path("/usr/share/fonts"), metavar="DIR")
    parser.add_argument("--time-limit", type=float, default=240.0, metavar="SECONDS")
    parser.add_argument("--classes", type=int, default=K)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--measure-every", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    asked = parser.parse_args()
    card = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    answers: dict[str, Any] = {"machine": f"{card}, {machine()}"}
    for name in asked.parts:
        answers[name] = b4(asked) if name == "b4" else PARTS[name]()
        print(name, json.dumps(answers[name]), flush=True)
        asked.file.write_text(json.dumps(answers, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
