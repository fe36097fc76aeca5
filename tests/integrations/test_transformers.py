"""`CollapseCallback` in real runs of the Trainer of transformers; and its models measured."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertForTokenClassification,
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainingArguments,
)

from gnc_cli import measure_model
from gnc_cli.integrations import FIGURES, figures
from gnc_cli.integrations.transformers import CollapseCallback
from tests.runtime.together import needs_gloo, together

pytestmark = pytest.mark.filterwarnings("ignore:.*pin_memory")

K, T, WORDS = 4, 6, 20
KEYS = {f"eval_gnc/{name}" for name in FIGURES}


def bert(kind: Any = BertForSequenceClassification) -> Any:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        num_labels=K,
        max_position_embeddings=T,
    )
    return kind(config)


def texts(N: int = 24) -> list[dict[str, Any]]:
    """Samples of T words whose first word tells the class."""
    words = torch.randint(K, WORDS, (N, T), generator=torch.Generator().manual_seed(1))
    words[:, 0] = torch.arange(N) % K
    return [{"input_ids": row, "labels": int(row[0])} for row in words]


def trainer(folder: Path, **more: Any) -> Trainer:
    usual: dict[str, Any] = {
        "eval_strategy": "epoch",
        "num_train_epochs": 3,
        "per_device_train_batch_size": 8,
        "per_device_eval_batch_size": 5,
        "report_to": [],
        "use_cpu": True,
        "disable_tqdm": True,
        "save_strategy": "no",
        "learning_rate": 1e-3,
    }
    arguments = TrainingArguments(str(folder), **(usual | more))
    return Trainer(bert(), arguments, train_dataset=texts(), eval_dataset=texts(22))


def logged(run: Trainer, prefix: str = "eval_gnc/") -> list[dict[str, Any]]:
    return [line for line in run.state.log_history if f"{prefix}gnc1" in line]


def test_values_go_to_the_log_and_the_metrics(tmp_path: Path) -> None:
    run = trainer(tmp_path)
    callback = CollapseCallback(run)
    run.add_callback(callback)
    run.train()
    assert [line["epoch"] for line in logged(run)] == [1.0, 2.0, 3.0]
    assert logged(run)[-1].keys() == KEYS | {"epoch", "step"}
    result = measure_model(run.model, run.get_eval_dataloader())
    assert callback.result is not None and callback.result.layer == "classifier"
    assert callback.result.N == 22
    for name, value in figures(result, "eval_gnc/").items():
        assert logged(run)[-1][name] == pytest.approx(value, rel=1e-9), name
    assert run.evaluate().keys() >= KEYS
    assert not run.model.classifier._forward_hooks


def test_the_best_model_by_a_metric_and_a_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "board"))
    run = trainer(
        tmp_path,
        report_to=["tensorboard"],
        metric_for_best_model="eval_gnc/gnc1",
        greater_is_better=False,
        load_best_model_at_end=True,
        save_strategy="epoch",
    )
    run.add_callback(CollapseCallback(run))
    run.train()
    values = [line["eval_gnc/gnc1"] for line in logged(run)]
    assert run.state.best_metric == min(values)
    board = EventAccumulator(str(tmp_path / "board")).Reload()
    shown = [event.value for event in board.Scalars("eval/gnc/gnc1")]
    assert shown == pytest.approx(values, rel=1e-6)


def timed(rows: Any) -> dict[str, float]:
    """Metrics of one's own, of which one is named as the trainer names its own."""
    return {"n": float(len(rows.label_ids)), "slow_runtime": 1.0}


def test_several_evaluation_sets_have_keys_and_turns_of_their_own(tmp_path: Path) -> None:
    run = trainer(tmp_path, num_train_epochs=4)
    run.eval_dataset, run.compute_metrics = {"a": texts(12), "b": texts(20)}, timed
    run.add_callback(CollapseCallback(run, every=2))
    run.train()
    for name in run.eval_dataset:
        lines = logged(run, f"eval_{name}_gnc/")
        assert [line["epoch"] for line in lines] == [2.0, 4.0]
        wanted = measure_model(run.model, run.get_eval_dataloader(name))
        for key, value in figures(wanted, f"eval_{name}_gnc/").items():
            assert lines[-1][key] == pytest.approx(value, rel=1e-9), key
    assert not logged(run)


def test_models_of_tokens() -> None:
    """A causal model is measured on the token that comes next, a tagger on its own."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=WORDS,
        n_embd=8,
        n_layer=1,
        n_head=2,
        n_positions=T,
        bos_token_id=0,
        eos_token_id=0,
    )
    words = torch.stack([text["input_ids"] for text in texts(200)])
    labels = words.clone()
    labels[:, -1] = -100
    for model, shift in ((GPT2LMHeadModel(config), 1), (bert(BertForTokenClassification), 0)):
        model.eval()
        known = labels if shift else labels % K
        known = known.where(labels >= 0, labels)
        halves = slice(0, 100), slice(100, 200)
        batches = [{"input_ids": words[half], "labels": known[half]} for half in halves]
        result = measure_model(model, batches)
        with torch.no_grad():
            called = model(input_ids=words).logits.argmax(dim=-1)
        wanted = known[:, shift:]
        right = (called[:, : T - shift] == wanted)[wanted >= 0]
        assert result.layer == ("lm_head" if shift else "classifier")
        assert result.N == right.numel() == 200 * (T - 1 - shift)
        assert result.accuracy == pytest.approx(right.double().mean().item(), abs=1e-12)


@needs_gloo
def test_two_processes_log_the_numbers_of_all_samples(tmp_path: Path) -> None:
    told = together(
        f"""
        import json, os, warnings
        warnings.simplefilter("ignore")
        os.environ |= {{"LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": "2"}}
        from pathlib import Path
        from gnc_cli.integrations.transformers import CollapseCallback
        from tests.integrations.test_transformers import logged, trainer
        run = trainer(Path({str(tmp_path)!r}), num_train_epochs=1, per_device_eval_batch_size=11)
        callback = CollapseCallback(run)
        run.add_callback(callback)
        run.train()
        assert run.args.world_size == 2 and callback.result.N == 22
        print(json.dumps(logged(run)[0]))
        """
    )
    first, second = (json.loads(line.splitlines()[-1]) for line in told)
    assert first == second and first.keys() == KEYS | {"epoch", "step"}
