"""`gnc measure` of models as transformers saves them, and of a hub that speaks as the real one."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    RobertaConfig,
    RobertaForSequenceClassification,
    ViTConfig,
    ViTForImageClassification,
)

from gnc_cli import measure
from gnc_cli.errors import DataError, UnavailableError

SMALL = {
    "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8,
}  # fmt: skip
WORDS = SMALL | {"vocab_size": 30}
GPT2 = {"vocab_size": 30, "n_embd": 8, "n_layer": 1, "n_head": 2, "bos_token_id": 0,
        "eos_token_id": 0}  # fmt: skip
MODELS: list[tuple[Any, Any, dict[str, Any], str]] = [
    (BertForSequenceClassification, BertConfig, WORDS | {"num_labels": 5}, "classifier"),
    (RobertaForSequenceClassification, RobertaConfig, WORDS | {"num_labels": 5},
     "classifier.out_proj"),
    (ViTForImageClassification, ViTConfig, SMALL | {"num_labels": 5, "image_size": 32},
     "classifier"),
    (LlamaForCausalLM, LlamaConfig, WORDS, "lm_head"),
    (LlamaForCausalLM, LlamaConfig, WORDS | {"tie_word_embeddings": True}, "lm_head"),
    (GPT2LMHeadModel, GPT2Config, GPT2, "lm_head"),
    (BertForMaskedLM, BertConfig, WORDS | {"pad_token_id": None}, "cls.predictions.decoder"),
]  # fmt: skip


def saved(kind: Any, config: Any, given: dict[str, Any], folder: Path, **how: Any) -> Any:
    torch.manual_seed(0)
    model = kind(config(**given))
    model.save_pretrained(folder, **how)
    return model


@pytest.mark.parametrize(("kind", "config", "given", "head"), MODELS)
@pytest.mark.parametrize("how", [{}, {"max_shard_size": "1KB"}])
def test_the_head_of_a_saved_model(
    tmp_path: Path, kind: Any, config: Any, given: dict[str, Any], head: str, how: dict[str, Any]
) -> None:
    model = saved(kind, config, given, tmp_path, **how)
    weight = model.get_submodule(head).weight
    found: Any = measure(tmp_path)
    wanted: Any = measure(weights=weight)
    assert found.K == len(weight) and found.gnc2 == wanted.gnc2
    assert kind.__name__ in found.policy.head


class Hub(BaseHTTPRequestHandler):
    """`/org/name/resolve/revision/file`, the files of `root/name`."""

    root: Path
    commit = "0123456789abcdef0123456789abcdef01234567"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        _, org, name, _, revision, file = self.path.partition("?")[0].split("/")
        path = self.root / name / file
        codes = [
            (name == "gated", 403, "GatedRepo"),
            (org != "org" or not (self.root / name).is_dir(), 401, "RepoNotFound"),
            (revision not in ("main", "v1", self.commit), 404, "RevisionNotFound"),
            (not path.is_file(), 404, "EntryNotFound"),
        ]
        status, code = next(((status, code) for wrong, status, code in codes if wrong), (200, ""))
        body = path.read_bytes() if status == 200 else b""
        self.send_response(status)
        self.send_header("X-Repo-Commit", self.commit)
        if code:
            self.send_header("X-Error-Code", code)
        self.send_header("ETag", f'"{hash(body):x}"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    """A hub on this machine with the models of `tmp_path/hub`, and an empty cache."""
    answers = type("Answers", (Hub,), {"root": tmp_path / "hub"})
    server = ThreadingHTTPServer(("127.0.0.1", 0), answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    constants = huggingface_hub.constants
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", address)
    template = address + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    yield server
    server.shutdown()
    server.server_close()


def test_a_model_of_the_hub_and_then_of_the_cache(tmp_path: Path, hub: ThreadingHTTPServer) -> None:
    folder = tmp_path / "hub/llama"
    model = saved(LlamaForCausalLM, LlamaConfig, WORDS, folder, max_shard_size="1KB")
    wanted: Any = measure(weights=model.lm_head.weight)
    found: Any = measure("hf:org/llama")
    assert found.gnc2 == wanted.gnc2 and found.file == "hf:org/llama"
    fetched = {path.name for path in (tmp_path / "cache").rglob("snapshots/*/*")}
    (shard,) = {name for name in fetched if name.endswith(".safetensors")}
    assert len([*folder.glob("*.safetensors")]) > 1 and (folder / shard).is_file()
    again: Any = measure("hf:org/llama@v1")
    assert again.gnc2 == wanted.gnc2
    hub.shutdown()
    hub.server_close()
    again = measure("hf:org/llama")
    assert again.gnc2 == wanted.gnc2
    with pytest.raises(UnavailableError, match="hub cannot be reached"):
        measure("hf:org/other")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("org/none", "no public model 'hf:org/none'"), ("org/gated", "accept its terms"),
        ("org/bare@v9", "no such revision"), ("org/bare", "has none of model.safetensors"),
        ("org/empty", "has no config.json"),
    ],
)  # fmt: skip
def test_what_the_hub_refuses(
    tmp_path: Path, hub: ThreadingHTTPServer, name: str, words: str
) -> None:
    for repository in ("bare", "empty", "gated"):
        (tmp_path / "hub" / repository).mkdir(parents=True)
    (tmp_path / "hub/bare/config.json").write_text("{}")
    with pytest.raises(DataError, match=words):
        measure(f"hf:{name}")
