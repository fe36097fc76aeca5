"""What a GPU brings: a network's training, the descent for many points, a measurement.

    python -m benchmarks.gpu loop descent measure OUT.json

`loop` sets images a second in bf16 beside those of a bare loop, `descent` the speed of a search
beside that of the same matrix products alone, `measure` a GPU beside the processor.
"""

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.solve import machine

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
    from gnc_cli.training.networks.encoders import Classifier, build_encoder
    from gnc_cli.training.networks.heads import SphereHead
    from gnc_cli.training.networks.losses import make_loss
    from gnc_cli.training.networks.training import Training
    from gnc_cli.training.request import Recipe

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
        Classifier(
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
        for pictures, classes in prepared:
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", torch.bfloat16):
                losses = plain(pictures, classes)[0]
            losses.mean().backward()
            optimizer.step()

    speeds = {"gnc": len(images) / _seconds(whole), "bare": len(images) / _seconds(bare)}
    return {name: round(speed) for name, speed in speeds.items()}


def descent() -> dict[str, Any]:
    """Steps a second at (512, 10,000) beside a product and its two of the way back alone."""
    from gnc_cli.search.large_scale import solve_large

    def run(steps: int) -> tuple[float, Any]:
        begun = time.perf_counter()
        solution = solve_large(D, K, seed=0, steps=steps, device="cuda")
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


PARTS = {"loop": loop, "descent": descent, "measure": measure}


if __name__ == "__main__":
    *names, file = sys.argv[1:]
    answers: dict[str, Any] = {"machine": f"{torch.cuda.get_device_name()}, {machine()}"}
    for name in names:
        answers[name] = PARTS[name]()
        print(name, json.dumps(answers[name]), flush=True)
        Path(file).write_text(json.dumps(answers, indent=1), encoding="utf-8")
