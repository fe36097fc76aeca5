"""Models as transformers, its hub and Lightning really write them, measured from disk."""

import threading
from collections.abc import Iterator
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import huggingface_hub.constants as hub
import lightning
import pytest
import torch
import transformers

from gnc_cli import measure
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.errors import DataError, UnavailableError

SMALL = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
MODELS: dict[str, dict[str, Any]] = {
    "LlamaForCausalLM": SMALL | {"num_key_value_heads": 2, "tie_word_embeddings": False},
    "GemmaForCausalLM": SMALL | {"num_key_value_heads": 2, "head_dim": 4},
    "GPT2LMHeadModel": {"n_embd": 8, "n_layer": 1, "n_head": 2},
    "GPTNeoXForCausalLM": SMALL,
    "BertForMaskedLM": SMALL,
    "RobertaForMaskedLM": SMALL,
    "RobertaForSequenceClassification": SMALL | {"num_labels": 5},
    "GPT2ForSequenceClassification": {"n_embd": 8, "n_layer": 1, "n_head": 2, "num_labels": 5},
    "ViTForImageClassification": SMALL | {"image_size": 8, "patch_size": 4, "num_labels": 5},
    "T5ForConditionalGeneration": {
        "d_model": 8,
        "d_ff": 8,
        "d_kv": 4,
        "num_layers": 1,
        "num_heads": 2,
    },
}


def model(name: str, folder: Path, **saving: Any) -> torch.Tensor:
    """Save a small model with random weights; its output head, by transformers' own word."""
    torch.manual_seed(0)
    kind = getattr(transformers, name)
    made = kind(kind.config_class(vocab_size=30, **MODELS[name]))
    made.save_pretrained(folder, **saving)
    head = made.get_output_embeddings()
    if head is None:
        head = [layer for layer in made.modules() if isinstance(layer, torch.nn.Linear)][-1]
    return head.weight.detach()


def measured(name: str | Path, **options: Any) -> MeasureResult:
    result = measure(name, classes="nonzero", **options)
    assert isinstance(result, MeasureResult)
    return result


@pytest.mark.parametrize("name", MODELS)
def test_the_head_is_that_of_transformers(tmp_path: Path, name: str) -> None:
    head = model(name, tmp_path)
    found, expected = measured(tmp_path), measure(weights=head[head.any(dim=1)])
    assert isinstance(expected, MeasureResult)
    assert (found.gnc2, found.K, found.d) == (expected.gnc2, expected.K, expected.d)
    assert found.policy.head is not None and name in found.policy.head


@pytest.fixture
def hub_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A hub on this machine: `org/NAME` is the folder NAME; what was fetched is in `log`."""

    class Hub(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            _, repository, _, revision, *rest = self.path.strip("/").split("/") + [""] * 5
            file = tmp_path / "hub" / repository / rest[0]
            code = "" if file.is_file() else "EntryNotFound"
            code = code if revision in ("main", "b" * 40) else "RevisionNotFound"
            code = code if file.parent.is_dir() and repository else "RepoNotFound"
            data = b"" if code else file.read_bytes()
            self.send_response(404 if code else 200)
            for key, value in {
                "X-Repo-Commit": "b" * 40,
                "ETag": f'"{sha1(data).hexdigest()}"',
                "Content-Length": len(data),
                "X-Error-Code": code,
            }.items():
                self.send_header(key, str(value))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)
                with open(tmp_path / "log", "a") as log:
                    log.write(f"{rest[0]}\n" if data else "")

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ask(f"http://127.0.0.1:{server.server_port}", monkeypatch)
    monkeypatch.setattr(hub, "HF_HUB_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "hub"
    server.shutdown()
    server.server_close()


def ask(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let huggingface_hub ask there."""
    monkeypatch.setattr(hub, "ENDPOINT", endpoint)
    template = endpoint + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(hub, "HUGGINGFACE_CO_URL_TEMPLATE", template)


def test_a_model_of_the_hub(
    tmp_path: Path, hub_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model("LlamaForCausalLM", hub_folder / "llama", max_shard_size="1KB")
    expected = measured(hub_folder / "llama").gnc2
    assert measured("hf:org/llama").gnc2 == expected
    fetched = (tmp_path / "log").read_text().split()
    assert [name for name in fetched if name.startswith("model-")] == fetched[-1:]
    assert fetched[:2] == ["config.json", "model.safetensors.index.json"] and len(fetched) == 3
    for name, words in (("org/none", "no public model"), ("org/llama@v9", "no such revision")):
        with pytest.raises(DataError, match=words):
            measure(f"hf:{name}")
    ask("http://127.0.0.1:1", monkeypatch)  # nobody answers there
    assert measured("hf:org/llama").gnc2 == expected
    with pytest.raises(UnavailableError, match="hub cannot be reached"):
        measure("hf:org/other")


class Module(lightning.LightningModule):
    """A perceptron whose head is called by a number."""

    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.save_hyperparameters()
        self.net = torch.nn.Sequential(
            torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Linear(width, 3)
        )

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def configure_optimizers(self) -> Any:
        return torch.optim.AdamW(self.parameters(), lr=0.1)


@pytest.mark.filterwarnings("ignore")
def test_a_checkpoint_of_lightning(tmp_path: Path) -> None:
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(32, 4), torch.arange(32) % 3)
    trainer = lightning.Trainer(
        max_epochs=2,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tmp_path,
        accelerator="cpu",
    )
    module = Module()
    trainer.fit(module, torch.utils.data.DataLoader(data, batch_size=8))
    for name in ("last.ckpt", "last"):
        trainer.save_checkpoint(tmp_path / name)
        found = measured(tmp_path / name)
        head = module.net[2].weight.detach()
        assert found.gnc2 == measure(weights=head).gnc2  # type: ignore[union-attr]
        assert str(found.policy.head).startswith("state_dict.net.2.weight: the only one")
        assert (found.epoch, found.step) == (2, 8)
