"""`GNCMetrics` as torchmetrics uses its metrics: the numbers are those of `gnc_cli.GNCMetrics`."""

import json
import pickle
from typing import Any

import pytest
import torch

import gnc_cli
from gnc_cli.errors import DataError
from gnc_cli.integrations import FIGURES, figures
from gnc_cli.integrations.torchmetrics import GNCMetrics
from tests.integrations.problems import D, K, features
from tests.runtime.together import needs_gloo, together

BY_MEANS = {"ncc_accuracy", "ncc_leave_one_out", "ncc_agreement", "nc4"}
"""Metrics that need the class means before the samples."""
ALL = features()
F64 = torch.float64
PARTS = [{n: v if n == "weights" else v[a : a + 20] for n, v in ALL.items()} for a in (0, 20, 40)]


def expected(parts: list[dict[str, Any]], **options: Any) -> dict[str, float]:
    metrics = gnc_cli.GNCMetrics(D, K, **options)
    for part in parts:
        metrics.update(part["features"], part["labels"], part["logits"])
    return figures(metrics.compute(ALL["weights"]), "")


def agree(found: dict[str, torch.Tensor], wanted: dict[str, float]) -> None:
    """GNC1 of so few samples is about 1,100: its pseudo-inverse costs three digits or four."""
    assert found.keys() == {*FIGURES} - BY_MEANS
    for name, value in found.items():
        assert value.item() == pytest.approx(
            wanted.get(name, float("nan")), rel=1e-10, nan_ok=True
        ), name


@pytest.mark.parametrize("options", [{}, {"normalize": False}, {"reference": 0.5}])
def test_the_same_numbers(options: dict[str, Any]) -> None:
    metric = GNCMetrics(D, K, **options)
    with pytest.raises(DataError, match="update"), pytest.warns(UserWarning, match="before the"):
        metric.compute()
    for part in PARTS:
        metric.update(**part)
    agree(metric.compute(), expected(PARTS, **options))
    assert metric.result is not None and metric.result.N == 60
    metric.reset()
    metric.update(**PARTS[0])
    agree(metric.compute(), expected(PARTS[:1], **options))


def test_batches_are_added_into_the_state_and_copies_stay_as_they_were() -> None:
    metric = GNCMetrics(D, K)
    memory = metric.moments.data_ptr()
    metric.update(**PARTS[0])
    copy, saved = metric.clone(), metric._copy_state_dict()
    kept = saved["moments"].clone()
    for part in PARTS[1:]:
        metric.update(**part)
    assert metric.moments.data_ptr() == memory
    assert torch.equal(saved["moments"], kept) and torch.equal(copy.moments, kept)
    metric.reset()
    assert not metric.moments.any()
    values = [metric(**part) for part in PARTS]  # `forward`: each batch, and all of them
    agree(values[1], expected(PARTS[1:2]))
    agree(metric.compute(), expected(PARTS))


def test_a_refused_batch_leaves_the_state() -> None:
    metric = GNCMetrics(D, K)
    metric.update(**PARTS[0])
    before = metric.moments.clone()
    for wrong in ({"labels": torch.full((20,), K)}, {"weights": torch.full((K, D), torch.nan)}):
        with pytest.raises(DataError):
            metric.update(**{**PARTS[1], **wrong})
    assert torch.equal(metric.moments, before)


def test_merged_states() -> None:
    first, second = GNCMetrics(D, K), GNCMetrics(D, K)
    first.update(**PARTS[0])
    for part in PARTS[1:]:
        second.update(**part)
    first.merge_state(second)
    agree(first.compute(), expected(PARTS))


def test_pickled_copied_and_saved() -> None:
    metric = GNCMetrics(D, K)
    metric.persistent(True)
    for part in PARTS[:2]:
        metric.update(**part)
    loaded = GNCMetrics(D, K)
    loaded.persistent(True)
    loaded.load_state_dict(metric.state_dict())
    loaded._update_count = metric._update_count  # torchmetrics saves the states alone
    for same in (pickle.loads(pickle.dumps(metric)), metric.clone(), loaded):
        same.update(**PARTS[2])
        agree(same.compute(), expected(PARTS))
    agree(metric.compute(), expected(PARTS[:2]))


@needs_gloo
def test_two_processes_have_the_numbers_of_all() -> None:
    told = together(
        """
        import json
        import torch.distributed as dist
        from gnc_cli.integrations.torchmetrics import GNCMetrics
        from tests.integrations.test_torchmetrics import D, K, PARTS
        dist.init_process_group("gloo")
        metric = GNCMetrics(D, K)
        for part in PARTS[:1] if rank == 0 else PARTS[1:]:
            metric.update(**part)
        for _ in range(2):  # synced states are put back
            print(json.dumps({n: value.item() for n, value in metric.compute().items()}))
            metric._computed = None
        metric.sync()
        assert int(metric.moments[:K].sum()) == 60
        metric.unsync()
        assert int(metric.moments[:K].sum()) == (20 if rank == 0 else 40)
        dist.destroy_process_group()
        """
    )
    (first, again), (second, _) = ([json.loads(s) for s in t.splitlines()] for t in told)
    assert first == second == again
    agree({name: torch.tensor(value, dtype=F64) for name, value in first.items()}, expected(PARTS))
