"""What `gnc train` shows on glyphs: collapse, classifiers, placements, processes, speed.

    python -m benchmarks.training.train temperature heads placements processes speed   # 20 minutes
    python -m benchmarks.training.train report

Every part trains networks from seeds, two at a time on a thread each, `speed` one alone; what they
find is kept in work/VERSION/train.json. `report` writes the section of RESULTS.md.
"""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.paths import MEASURED, WORK
from benchmarks.report import machine, table, write_section

KEPT = MEASURED / "train.json"
TAUS = [1.0, 1 / 5, 1 / 7, 0.1, 0.05]
SEEDS = [0, 1, 2]
SETTING = {"classes": 100, "feature_dim": 10, "measure_every": 10}
"""`gnc train --classes 100 --feature-dim 10`, measured at epochs that all runs share."""
LOOKALIKES = {4: ("S", "5", "Z", "2"), 6: ("S", "5", "Z", "2", "B", "8")}
"""Pairs that look alike, as cat and dog, automobile and truck do in figure 4 of the paper."""
CIRCLE = {4: 0.05, 6: 0.2}
"""The paper's temperatures on the circle (figures 4 and B.6)."""
CIRCLE_SEEDS = list(range(10))


def one(job: dict[str, Any]) -> dict[str, Any]:
    """Train one network and keep what the tables show."""
    from gnc_cli import train

    begun, cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        result = train(out=f"{folder}/run", threads=1, device="cpu", **job)
    seen = [row for row in result.history if row.gnc1 is not None]
    keep = ("test_accuracy", "train_accuracy", "test_ncc_accuracy", "ncc_accuracy", "gnc1", "gnc3")
    ends = [
        {k: getattr(row, k) for k in keep} | {"gnc2": row.gnc2.lower, "epoch": row.epoch}
        for row in (seen[0], seen[-1])
    ]
    return {
        "job": job,
        "first": ends[0],
        "last": ends[1],
        "epochs": result.epochs,
        "loss": [row.loss for row in result.history],
        "tau": result.head.tau,
        "tests": {row.epoch: row.test_accuracy for row in seen},
        "trained": result.head.trained_parameters,
        "saved": result.head.saved_share,
        "permutation": result.head.permutation,
        "images_per_second": result.images_per_second,
        "measure_share": result.measure_share,
        "reference": result.measured.gnc2_reference.value,
        "seconds": time.perf_counter() - begun,
        "cpu_seconds": time.process_time() - cpu,
    }


def runs(jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Two at a time, each in a process of its own."""
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(2, max_tasks_per_child=8) as pool:
        found = []
        for result in pool.map(one, jobs):
            found.append(result)
            print(result["job"], result["last"], f"{result['cpu_seconds']:.0f} s", flush=True)
    return found


def temperature() -> list[dict[str, Any]]:
    """Figure 2: the same run at several temperatures."""
    return runs([SETTING | {"tau": tau, "seed": 0} for tau in TAUS])


def heads() -> dict[str, list[dict[str, Any]]]:
    """Section 5: learned, class means, a fixed Softmax Code; three seeds each."""
    from gnc_cli import solve

    code = str(WORK / "code-10-100.h5")
    solve(10, 100, restarts=16, out=code, force=True)
    kinds = {"learned": "learned", "cmf": "cmf", "fixed": f"fixed:{code}"}
    found = runs([SETTING | {"head": head, "seed": s} for head in kinds.values() for s in SEEDS])
    return {kind: found[3 * at : 3 * at + 3] for at, kind in enumerate(kinds)}


def placements() -> dict[str, Any]:
    """Figures 4 and B.6: look-alikes on the circle; learned, near, far; ten seeds each."""
    found = {}
    for K, names in LOOKALIKES.items():
        shared = {
            "classes_subset": names,
            "image_size": 16,
            "width": 0.5,
            "feature_dim": 2,
            "tau": CIRCLE[K],
            "epochs": 200,
            "batch_size": 18,
            "measure_every": 10,
        }
        alike = WORK / f"lookalikes-{K}.txt"
        np.savetxt(alike, np.kron(np.eye(K // 2), [[1.0, 0.8], [0.8, 1.0]]))
        ways = {"learned": {}} | {
            how: {"head": "fixed:solve", "assignment": how, "similarity": str(alike)}
            for how in ("best", "worst")
        }
        for way, more in ways.items():
            found[f"{K} {way}"] = runs([shared | more | {"seed": s} for s in CIRCLE_SEEDS])
    return found


def processes() -> dict[str, dict[str, Any]]:
    """Largest relative difference of the loss curve of two processes from that of one."""
    found = {}
    for head in ("learned", "cmf"):
        curves = [_curve(head, size) for size in (1, 2)]
        apart = [abs(a - b) / a for a, b in zip(*curves, strict=True)]
        found[head] = {"largest": max(apart), "epochs": len(apart), "last": curves[0][-1]}
        print(head, found[head], flush=True)
    return found


def _curve(head: str, size: int) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        asked = [
            "train",
            "--classes",
            "50",
            "--epochs",
            "10",
            "--head",
            head,
            "--model",
            "tests.training.problems:tiny",
            "--device",
            "cpu",
            "--threads",
            "1",
            "--out",
            f"{folder}/run",
            "-q",
        ]
        start = [sys.executable, "-m", "gnc_cli"]
        if size > 1:
            start = [
                sys.executable,
                "-m",
                "torch.distributed.run",
                "--standalone",
                "--nproc-per-node",
                str(size),
                "-m",
                "gnc_cli",
            ]
        subprocess.run(start + asked, check=True, stdout=subprocess.DEVNULL)
        lines = Path(folder, "run", "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["loss"] for line in lines]


def speed() -> dict[str, Any]:
    """The default command alone; and its training loop beside a plain one, in turns."""
    from gnc_cli.training.api import train

    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        result = train(classes=100, feature_dim=10, out=f"{folder}/run")
    seconds = time.perf_counter() - begun
    measuring = [row.measure_seconds for row in result.history if row.measure_seconds]
    return {
        "seconds": seconds,
        "images_per_second": result.images_per_second,
        "measure_seconds": statistics.median(measuring),
        "measure_share": result.measure_share,
        "test_accuracy": result.test_accuracy,
        "load": os.getloadavg()[0],
        "ratio": _beside_a_plain_loop(),
    }


def _beside_a_plain_loop(rounds: int = 7) -> float:
    """Images a second of `Training.steps` over those of a bare loop; the median of ratios."""
    import torch

    from gnc_cli.runtime.distributed import Processes
    from gnc_cli.training.data.load import load_images
    from gnc_cli.training.networks.batches import Augmentation, Batches, channel_statistics
    from gnc_cli.training.networks.classifier import EncoderWithHead
    from gnc_cli.training.networks.encoders import build_encoder
    from gnc_cli.training.networks.heads import SphereHead
    from gnc_cli.training.networks.losses import make_loss
    from gnc_cli.training.networks.training import Training
    from gnc_cli.training.settings import Recipe

    torch.set_num_threads(1)
    data, cpu = load_images("glyphs", classes=100).train, torch.device("cpu")
    recipe = Recipe(epochs=100, batch_size=64, optimizer="adamw", lr=3e-3)
    grey = channel_statistics(data.images)
    batches = Batches(
        data.images,
        data.labels,
        batch_size=64,
        seed=0,
        normalisation=grey,
        augmentation=Augmentation(),
        device=cpu,
    )
    ours, plain = (
        EncoderWithHead(
            build_encoder("cnn", channels=1, image_size=32, feature_dim=10),
            SphereHead(10, 100),
            make_loss("ce", tau=0.1),
        ).to(memory_format=torch.channels_last)
        for _ in range(2)
    )
    training = Training(ours, batches, recipe, processes=Processes(), device=cpu)
    prepared = [(batch.images, batch.labels) for batch in batches.epoch(0)]
    optimizer = torch.optim.AdamW(plain.parameters(), lr=3e-3)
    ratios = []
    for _ in range(rounds + 1):
        begun = time.perf_counter()
        for _ in training.steps():
            pass
        training.settle()
        between = time.perf_counter()
        plain.train()
        for images, labels in prepared:
            optimizer.zero_grad(set_to_none=True)
            plain(images, labels)[0].mean().backward()
            optimizer.step()
        ratios.append((time.perf_counter() - between) / (between - begun))
    return float(np.median(ratios[1:]))


def _spread(values: Sequence[float], digits: int = 3) -> str:
    mean, low, high = (f"{f(values):.{digits}f}" for f in (statistics.mean, min, max))
    return f"{mean} ({low} .. {high})"


def temperature_table(found: list[dict[str, Any]]) -> str:
    """A row a temperature."""
    rows = []
    for run in found:
        first, last = run["first"], run["last"]
        rows.append(
            [
                f"{run['tau']:.3g}",
                f"{first['gnc1']:.3g} -> {last['gnc1']:.3g}",
                f"{first['gnc2']:.3f} -> {last['gnc2']:.3f}",
                f"{first['gnc3']:.3g} -> {last['gnc3']:.3g}",
                f"{last['ncc_accuracy']:.4f}",
                f"{last['train_accuracy']:.4f}",
                f"{last['test_accuracy']:.4f}",
                f"{run['cpu_seconds']:.0f}",
            ]
        )
    return table(
        [
            "tau",
            "GNC1",
            "GNC2",
            "GNC3",
            "NCC, training",
            "training accuracy",
            "test accuracy",
            "CPU s",
        ],
        rows,
    )


def heads_table(found: dict[str, list[dict[str, Any]]]) -> str:
    """A row a classifier, means over the seeds with their range."""
    rows = []
    for kind, some in found.items():
        last = [run["last"] for run in some]
        rows.append(
            [
                kind,
                _spread([e["test_accuracy"] for e in last], 4),
                _spread([e["train_accuracy"] for e in last], 4),
                _spread([e["gnc1"] for e in last], 4),
                _spread([e["gnc2"] for e in last]),
                _spread([e["gnc3"] for e in last]),
                f"{some[0]['trained']}",
                f"{100 * some[0]['saved']:.2f} %",
            ]
        )
    return table(
        [
            "classifier",
            "test accuracy",
            "training accuracy",
            "GNC1",
            "GNC2",
            "GNC3",
            "trained parameters",
            "saved",
        ],
        rows,
    )


def placements_table(found: dict[str, Any]) -> str:
    """A row a placement: means over the seeds, early and at the end."""
    rows = []
    for name, some in found.items():
        K, way = name.split()
        tests = [{int(k): v for k, v in run["tests"].items()} for run in some]
        early = [statistics.mean(t[epoch] for t in tests) for epoch in (20, 50, 100)]
        last = [run["last"]["test_accuracy"] for run in some]
        error = statistics.stdev(last) / math.sqrt(len(last))
        rows.append(
            [
                ", ".join(LOOKALIKES[int(K)]),
                way,
                *(f"{a:.3f}" for a in early),
                f"{statistics.mean(last):.3f} +- {error:.3f}",
                f"{statistics.mean(run['last']['train_accuracy'] for run in some):.3f}",
                f"{statistics.mean(run['loss'][-1] for run in some):.3g}",
            ]
        )
    return table(
        [
            "classes",
            "placement",
            "test, epoch 20",
            "epoch 50",
            "epoch 100",
            "epoch 200",
            "training",
            "loss",
        ],
        rows,
    )


def placements_order(found: dict[str, Any]) -> str:
    """The ways in order of their mean test accuracy, beside the order in the paper."""
    said = []
    for K, names in LOOKALIKES.items():
        for epoch in (100, 200):
            means = {}
            for way in ("learned", "best", "worst"):
                some = found[f"{K} {way}"]
                means[way] = statistics.mean(run["tests"][str(epoch)] for run in some)
            order = " > ".join(sorted(means, key=lambda way: -means[way]))
            said.append(f"{len(names)} classes, epoch {epoch}: {order}")
    spread = [run["last"]["gnc2"] for K in LOOKALIKES for run in found[f"{K} learned"]]
    return (
        "In the paper best > learned > worst (92.1, 91.5, 90.0 % on the square, 92.0, 91.8, "
        f"86.4 % on the hexagon). Here: {'; '.join(said)}. The learned classifiers have not spread "
        "out at these lengths of training: the median of their GNC2 is "
        f"{statistics.median(spread):.2f}, where square and hexagon have 1 and 0.5."
    )


def report(kept: dict[str, Any]) -> str:
    """The section of RESULTS.md."""
    glyphs = "Glyphs of twelve DejaVu styles, nine of them to train on"
    said = ["## gnc train", f"Machine: {machine()}. {glyphs}."]
    if "speed" in kept:
        quick = kept["speed"]
        said.append(
            f"`gnc train --classes 100 --feature-dim 10`: {quick['seconds']:.0f} s "
            f"({quick['images_per_second']:.0f} images/s on one thread, load "
            f"{quick['load']:.1f}), test accuracy on unseen styles {quick['test_accuracy']:.4f}; a "
            f"measurement of 900 + 300 images {quick['measure_seconds']:.2f} s, "
            f"{100 * quick['measure_share']:.1f} % of the time. The training loop, augmentation "
            f"and sums included, makes {quick['ratio']:.2f} of the images a second of a bare "
            "loop over batches prepared beforehand (median of seven turns)."
        )
    if "temperature" in kept:
        said += [
            "### Temperature (figure 2): 100 classes, d = 10, seed 0, 60 epochs",
            "First to last epoch. The best known distance at (10, 100) is "
            f"{kept['temperature'][0]['reference']:.4f}.",
            temperature_table(kept["temperature"]),
        ]
    if "heads" in kept:
        said += [
            "### Classifiers (section 5): the same at tau 0.1, seeds 0 to 2, mean and range",
            heads_table(kept["heads"]),
        ]
    if "placements" in kept:
        said += [
            "### Placements on the circle (figures 4 and B.6): look-alikes near and far, ten seeds",
            "d = 2, tau 0.05 (four classes, square) and 0.2 (six, hexagon), images of 16 x 16, "
            "`cnn` of half the width, 200 epochs; best and worst for a given similarity of 0.8 "
            "within the pairs. Means over seeds, with the standard error at the end; twelve or "
            "eighteen test images a run.",
            placements_table(kept["placements"]),
            placements_order(kept["placements"]),
        ]
    if "processes" in kept:
        lines = [
            f"{head}: {found['largest']:.1e} over {found['epochs']} epochs"
            for head, found in kept["processes"].items()
        ]
        said += [
            "### Two gloo processes beside one, the same batches of 64, group norm",
            "Largest relative difference of an epoch's loss: " + "; ".join(lines) + ".",
        ]
    return "\n\n".join(said)


def main() -> None:
    """Parts by name, in their order."""
    parts = {
        "temperature": temperature,
        "heads": heads,
        "placements": placements,
        "processes": processes,
        "speed": speed,
    }
    for word in sys.argv[1:]:
        kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        if word == "report":
            write_section("train", report(kept))
            continue
        kept[word] = parts[word]()
        KEPT.parent.mkdir(parents=True, exist_ok=True)
        KEPT.write_text(json.dumps(kept))


if __name__ == "__main__":
    main()
