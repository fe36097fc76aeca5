"""The output head of a model (`io/models.py`): by config.json, or as the only matrix that fits."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

from gnc_cli import measure, measure_series
from gnc_cli.collapse.result import MeasureResult
from gnc_cli.errors import DataError, UnavailableError, UsageError
from gnc_cli.io.file_rows import FlatArray
from gnc_cli.io.models import hub_name

V, D = 12, 4
W = np.random.default_rng(3).standard_normal((V, D)).astype(np.float32)
BODY = {
    "model.layers.0.mlp.up_proj.weight": np.ones((9, D), np.float32),
    "model.norm.weight": np.ones(D, np.float32),
}
LLAMA = {"architectures": ["LlamaForCausalLM"], "vocab_size": V, "hidden_size": D}


def tensors(arrays: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}


def model(folder: Path, config: dict[str, Any] | None, *shards: dict[str, np.ndarray]) -> str:
    """A model as transformers saves it: in one file, or in shards with an index."""
    folder.mkdir(exist_ok=True)
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    names = ["model.safetensors"][: len(shards)]
    if len(shards) > 1:
        names = [f"model-{i:05d}-of-{len(shards):05d}.safetensors" for i in range(len(shards))]
        places = {key: name for name, part in zip(names, shards, strict=True) for key in part}
        index = {"metadata": {"total_size": 0}, "weight_map": places}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    for name, part in zip(names, shards, strict=True):
        safetensors.torch.save_file(tensors(part), folder / name, metadata={"format": "pt"})
    return str(folder)


EXPECTED = measure(weights=W).gnc2


@pytest.mark.parametrize(
    ("config", "names", "head", "why"),
    [
        (
            LLAMA | {"tie_word_embeddings": False},
            ["model.embed_tokens.weight", "lm_head.weight"],
            "lm_head.weight",
            "output head of LlamaForCausalLM",
        ),
        (LLAMA, ["model.embed_tokens.weight", "lm_head.weight"], "lm_head.weight", "output head"),
        (
            LLAMA | {"tie_word_embeddings": True},
            ["model.embed_tokens.weight"],
            "model.embed_tokens.weight",
            "tied to its output head by config.json",
        ),
        (
            {"architectures": ["GPT2LMHeadModel"], "vocab_size": V},
            ["wte.weight"],
            "wte.weight",
            "the file has no other",
        ),
        (
            {"architectures": ["GPTNeoXForCausalLM"], "vocab_size": V},
            ["gpt_neox.embed_in.weight", "embed_out.weight"],
            "embed_out.weight",
            "output head",
        ),
        (
            {"architectures": ["BertForMaskedLM"], "vocab_size": V},
            ["bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"],
            "cls.predictions.decoder.weight",
            "output head",
        ),
        (
            {
                "architectures": ["T5ForConditionalGeneration"],
                "vocab_size": V,
                "tie_word_embeddings": True,
            },
            ["shared.weight"],
            "shared.weight",
            "tied",
        ),
        (
            {
                "architectures": ["LlavaForConditionalGeneration"],
                "tie_word_embeddings": False,
                "text_config": {"vocab_size": V},
            },
            ["language_model.lm_head.weight"],
            "language_model.lm_head.weight",
            "output head",
        ),
        (
            {
                "architectures": ["ViTForImageClassification"],
                "id2label": {str(k): str(k) for k in range(V)},
            },
            ["classifier.weight"],
            "classifier.weight",
            "output head of ViTForImageClassification",
        ),
        (
            {"architectures": ["RobertaForSequenceClassification"], "num_labels": V},
            ["classifier.out_proj.weight"],
            "classifier.out_proj.weight",
            "output head",
        ),
    ],
)
def test_the_config_says_which_matrix_is_the_head(
    tmp_path: Path, config: dict[str, Any], names: list[str], head: str, why: str
) -> None:
    arrays = {name: (W if name == head else -2 * W[::-1]) for name in names}
    folder = model(tmp_path / "m", config, BODY | arrays)
    found = measure(folder)
    assert found.gnc2 == EXPECTED and found.file == folder
    said = found.policy.head
    assert said is not None and said.startswith(f"{head}: ") and why in said
    assert measure(weights=folder).policy.head == said
    named = measure(f"{folder}:{head}")
    assert named.gnc2 == EXPECTED and named.policy.head is None


def test_the_checkpoints_of_a_trainer(tmp_path: Path) -> None:
    for step in (10, 500, 90):
        model(tmp_path / f"checkpoint-{step}", LLAMA, {"lm_head.weight": step * W})
    rows = measure_series(tmp_path).rows
    assert [str(row.file).rpartition("-")[2] for row in rows] == ["10", "90", "500"]


def test_of_shards_only_the_head_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = {"model.layers.0.mlp.up_proj.weight": np.ones((5000, D), np.float32)}
    folder = model(tmp_path / "m", LLAMA, large, {"lm_head.weight": W}, BODY)
    shapes, whole = [], FlatArray._fill

    def fill(self: FlatArray, array: np.ndarray, skip: int) -> None:
        shapes.append(array.shape)
        whole(self, array, skip)

    monkeypatch.setattr(FlatArray, "_fill", fill)
    assert measure(folder).gnc2 == EXPECTED
    assert shapes == [(V, D)]
    os.remove(f"{folder}/model-00000-of-00003.safetensors")  # nor need the others be there
    assert measure(folder).gnc2 == EXPECTED


def test_a_model_in_shards_as_torch_saves_them(tmp_path: Path) -> None:
    folder = model(tmp_path / "m", LLAMA)
    names = [f"pytorch_model-0000{i}-of-00002.bin" for i in (1, 2)]
    torch.save(tensors(BODY), f"{folder}/{names[0]}")
    torch.save(tensors({"lm_head.weight": W}), f"{folder}/{names[1]}")
    with pytest.raises(DataError, match=r"without the index .*\(pytorch_model.bin.index.json\)"):
        measure(folder)
    places = dict.fromkeys(BODY, names[0]) | {"lm_head.weight": names[1]}
    index = Path(folder, "pytorch_model.bin.index.json")
    index.write_text(json.dumps({"weight_map": places}))
    found = measure(folder)
    assert found.gnc2 == EXPECTED and str(found.policy.head).startswith("lm_head.weight: output")
    os.remove(f"{folder}/{names[0]}")
    assert measure(folder).gnc2 == EXPECTED
    os.remove(f"{folder}/{names[1]}")
    with pytest.raises(DataError, match=f"is in .*{names[1]}', which is missing; fetch"):
        measure(folder)
    index.write_text(json.dumps({"weight_map": {"lm_head.weight": "../x.bin"}}))
    with pytest.raises(DataError, match="points to '../x.bin'; expected .safetensors or .bin"):
        measure(folder)


def test_a_padding_row_of_zeros_is_left_out_when_asked(tmp_path: Path) -> None:
    padded = np.concatenate([np.zeros((1, D), np.float32), W])
    folder = model(tmp_path / "m", LLAMA | {"vocab_size": V + 1}, {"lm_head.weight": padded})
    with pytest.raises(DataError, match="1 zero row.*leave these classes out with classes='nonz"):
        measure(folder)
    found = measure(folder, classes="nonzero")
    assert found.gnc2 == EXPECTED and (found.K, found.policy.classes_left_out) == (V, 1)
    assert found.worst_classes[0].label > 0


@pytest.mark.parametrize(
    ("config", "arrays", "words"),
    [
        (
            LLAMA | {"architectures": ["LlamaModel"]},
            {"embed_tokens.weight": W},
            ["LlamaModel has no output head", "m:embed_tokens.weight", "(12, 4)"],
        ),
        (
            LLAMA | {"tie_word_embeddings": False},
            {"model.embed_tokens.weight": W},
            ["LlamaForCausalLM has no output head of", "m:model.embed_tokens.weight"],
        ),
        (
            LLAMA | {"vocab_size": 99},
            {"lm_head.weight": W},
            ["(12, 4)", "vocab_size of config.json says 99", "m:lm_head.weight"],
        ),
    ],
)
def test_a_model_without_a_head_lists_its_matrices(
    tmp_path: Path, config: dict[str, Any], arrays: dict[str, np.ndarray], words: list[str]
) -> None:
    with pytest.raises(DataError) as caught:
        measure(model(tmp_path / "m", config, BODY | arrays))
    assert all(word in str(caught.value) for word in words), caught.value


def test_models_that_are_not_whole(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(DataError, match="nor a model .config.json with model.safetensors"):
        measure(tmp_path)
    cut = model(tmp_path / "cut", LLAMA, BODY, {"lm_head.weight": W})
    Path(cut, "model.safetensors.index.json").unlink()
    with pytest.raises(DataError, match="in 2 file.s. without the index .*; add it") as caught:
        measure(cut)
    assert measure(str(caught.value).rpartition(": ")[2]).gnc2 == EXPECTED
    with pytest.raises(DataError, match=f"describes a model; give its folder: {cut}$"):
        measure(f"{cut}/config.json")
    folder = model(tmp_path / "m", None, {"fc.weight": W})  # without a config, by name
    assert measure(folder).gnc2 == EXPECTED
    Path(folder, "config.json").write_text("[]")
    with pytest.raises(DataError, match="config.json of a model"):
        measure(folder)


@pytest.mark.parametrize("value", [7, "x", [[]], {"a": 1}, None, True])
@pytest.mark.parametrize(
    "key", ["architectures", "vocab_size", "tie_word_embeddings", "text_config", "id2label"]
)
def test_a_config_of_nonsense_is_one_line(tmp_path: Path, key: str, value: Any) -> None:
    for architecture in ("LlamaForCausalLM", "BertForSequenceClassification"):
        config = {"architectures": [architecture], key: value}
        folder = model(tmp_path / "m", config, {"lm_head.weight": W, "score.weight": W})
        try:
            measure(folder)
        except DataError as error:
            assert "\n" not in str(error) and folder in str(error)


# Without a config ---------------------------------------------------------------------------------


def state(*layers: tuple[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    return {name: np.random.default_rng(0).standard_normal(shape) for name, shape in layers}


PLAUSIBLE = {
    "perceptron": state(("0.weight", (64, 784)), ("2.weight", (32, 64)), ("4.weight", (10, 32))),
    "vgg": state(
        ("features.0.weight", (64, 3, 3, 3)),
        ("classifier.0.weight", (40, 196)),
        ("classifier.3.weight", (40, 40)),
        ("classifier.6.weight", (10, 40)),
    ),
    "nested": state(
        ("net.backbone.conv.weight", (8, 3, 3, 3)),
        ("net.backbone.fc.weight", (32, 8)),
        ("net.my_head.weight", (10, 32)),
    ),
    "classes as wide as a layer": state(
        ("body.weight", (10, 10)), ("mlp.weight", (20, 10)), ("out.head.weight", (10, 20))
    ),
    "transformer": state(
        *(
            (f"blocks.{i}.{name}.weight", shape)
            for i in range(2)
            for name, shape in (("qkv", (24, 8)), ("up", (32, 8)), ("down", (8, 32)))
        ),
        ("tok_embed.weight", (50, 8)),
        ("my_logits.weight", (10, 8)),
    ),
    "optimizer": state(
        ("model.body.weight", (32, 8)),
        ("model.last.weight", (10, 32)),
        ("optimizer_states.0.state.1.weight", (10, 32)),
    ),
}


@pytest.mark.parametrize("name", PLAUSIBLE)
def test_the_one_plausible_head_is_taken_and_said(tmp_path: Path, name: str) -> None:
    arrays = PLAUSIBLE[name]
    head = [key for key in arrays if "optim" not in key][-1]
    torch.save(tensors(arrays), tmp_path / "m.pth.tar")
    for found in (measure(tmp_path / "m.pth.tar"), measure(weights=tmp_path / "m.pth.tar")):
        assert found.gnc2 == measure(weights=arrays[head]).gnc2
        assert found.policy.head is not None and found.policy.head.startswith(f"{head}: the only")


def test_several_plausible_heads_are_listed_with_a_command(gnc: Any, tmp_path: Path) -> None:
    arrays = state(("a.weight", (32, 8)), ("coarse.weight", (5, 32)), ("fine.weight", (10, 32)))
    torch.save(tensors(arrays), tmp_path / "m.pt")
    run = gnc("measure", str(tmp_path / "m.pt"))
    assert run.exit_code == 3
    assert "choose one: 'coarse.weight' (5, 32), 'fine.weight' (10, 32); for inst" in run.stderr
    command = run.stderr.rpartition("for instance: ")[2].split()
    assert command == ["gnc", "measure", "--weights", f"{tmp_path}/m.pt:coarse.weight"]
    assert gnc(*command[1:]).exit_code == 0


CLASSES, WIDTH = 10, 32
ALIKE = {
    "a moving average beside": (("model.fc.weight", "ema.fc.weight"), ()),
    "a moving average within": (("fc.weight", "ema.module.fc.weight"), ()),
    "a moving average of timm": (("state_dict.head.weight", "state_dict_ema.head.weight"), ()),
    "of no known name": (("net.last.weight", "ema.net.last.weight"), ()),
    "centres of a loss": (("model.fc.weight", "criterion.centers"), ()),
    "rows of ArcFace": (("head.weight", "arcface.W"), ()),
    "by words": (("net.my_head.weight", "loss.prototypes"), ()),
    "one is taken": (
        ("fc.weight",),
        ("aux1.fc2.weight", "optimizer.state.fc.weight", "embed_tokens.weight", "body.weight"),
    ),
}


@pytest.mark.parametrize("name", ALIKE)
def test_heads_of_equal_rank_are_listed(gnc: Any, tmp_path: Path, name: str) -> None:
    heads, others = ALIKE[name]
    arrays = state(("stem.weight", (WIDTH, 7)), *((n, (CLASSES, WIDTH)) for n in heads + others))
    path = f"{tmp_path}/m.pt"
    torch.save(tensors(arrays), path)
    run = gnc("measure", path)
    if len(heads) == 1:
        assert run.exit_code == 0 and f"head  {heads[0]}: " in run.stdout
        return
    assert run.exit_code == 3
    assert all(f"{head!r} ({CLASSES}, {WIDTH})" in run.stderr for head in heads)
    command = run.stderr.rpartition("for instance: ")[2].split()
    assert command[3] in {f"{path}:{head}" for head in heads}
    assert gnc(*command[1:]).exit_code == 0


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("suffix", ["pt", "safetensors"])
def test_a_quantised_head_is_refused_by_name(tmp_path: Path, dtype: str, suffix: str) -> None:
    path = f"{tmp_path}/m.{suffix}"
    head = torch.from_numpy(np.arange(V * D).reshape(V, D).astype(dtype))
    found = {"lm_head.weight": head, "lm_head.SCB": torch.ones(V)}
    save: Any = torch.save if suffix == "pt" else safetensors.torch.save_file
    save(found, path)
    for name in (path, f"{path}:lm_head.weight"):
        with pytest.raises(DataError, match=f"'lm_head.weight' has dtype {dtype}: a quantised"):
            measure(name)
    np.save(tmp_path / "code.npy", np.array([[1, 0], [0, 1], [-1, -1]], np.int8))
    assert measure(tmp_path / "code.npy").K == 3  # a code of integers is one


# What the file has beside the head -------------------------------------------------------------


B = np.linspace(-3, 3, V).astype(np.float32)
BERT = {"architectures": ["BertForMaskedLM"], "vocab_size": V}
EMBEDDING = "bert.embeddings.word_embeddings.weight"
BIASES = {
    "of its layer": (
        {"cls.predictions.decoder.weight": W, "cls.predictions.decoder.bias": B},
        BERT,
    ),
    "of the module": ({"cls.predictions.decoder.weight": W, "cls.predictions.bias": B}, BERT),
    "tied": ({EMBEDDING: W, "cls.predictions.bias": B}, BERT),
    "twice": (
        {EMBEDDING: W, "cls.predictions.bias": B}
        | {"cls.predictions.decoder.weight": W, "cls.predictions.decoder.bias": B},
        BERT | {"tie_word_embeddings": True},
    ),
    "a row": (
        {"model.shared.weight": W, "final_logits_bias": B[None]},
        BERT | {"architectures": ["BartForConditionalGeneration"]},
    ),
    "of a classifier": (
        {"score.weight": W, "score.bias": B},
        {"architectures": ["PhiForTokenClassification"], "num_labels": V},
    ),
}


@pytest.mark.parametrize("name", BIASES)
def test_the_bias_comes_with_the_head_of_a_model(tmp_path: Path, name: str) -> None:
    arrays, config = BIASES[name]
    folder = model(tmp_path / "m", config, BODY | arrays)
    expected = measure(weights=W, bias=B, reach=True).reach
    assert expected is not None and expected.biased
    for found in (measure(folder, reach=True), measure(weights=folder, reach=True)):
        assert found.reach == expected and found.notes == ()


def test_a_tied_embedding_of_other_numbers_is_named(tmp_path: Path) -> None:
    names = {"model.embed_tokens.weight": -2 * W[::-1], "lm_head.weight": W}
    folder = model(tmp_path / "m", LLAMA | {"tie_word_embeddings": True}, BODY | names)
    found = measure(folder)
    assert found.gnc2 == EXPECTED and str(found.policy.head).startswith("lm_head.weight: output")
    (note,) = found.notes
    assert "ties it to model.embed_tokens.weight, whose numbers differ" in note
    assert measure(note.rpartition(" ")[2]).gnc2 == measure(weights=-2 * W[::-1]).gnc2
    names["model.embed_tokens.weight"] = W
    assert measure(model(Path(folder), LLAMA, BODY | names)).notes == ()


UNUSED = {
    "beside the weights": ("weights", "offset", {}),
    "in the layer": ("fc.weight", "fc.offset", {}),
    "of another module": ("fc.weight", "logit_adjustment.prior", {"norm.weight": np.ones(D)}),
    "beside a bias": ("fc.weight", "adapter.bias", {"fc.bias": B}),
    "as a row": ("model.shared.weight", "final_logits_bias", {}),
}


@pytest.mark.parametrize("suffix", ["npz", "pt", "safetensors"])
@pytest.mark.parametrize("name", UNUSED)
def test_an_unused_vector_is_named_and_nothing_is_proved(
    gnc: Any, tmp_path: Path, name: str, suffix: str
) -> None:
    weights, vector, others = UNUSED[name]
    shape = (1, V) if name == "as a row" else (V,)
    arrays = {weights: W, vector: 2 * B.reshape(shape)} | others
    path = tmp_path / f"m.{suffix}"
    if suffix == "npz":
        np.savez(path, **arrays)
    else:
        save: Any = torch.save if suffix == "pt" else safetensors.torch.save_file
        save(tensors(arrays), path)
    (note,) = measure(path).notes
    assert repr(vector) in note and "one number per class, and is not used" in note
    for arguments in ([path], ["--weights", path]):
        for asked in (["--reach"], ["--sets", "random:2:3"]):
            run = gnc("measure", *arguments, *asked)
            assert run.exit_code == 3 and "nothing is proved of the network" in run.stderr
        given = run.stderr.rpartition("give ")[2].split()
        biased = gnc("measure", *arguments, *given[:2], "--reach", "--json")
        assert json.loads(biased.stdout)["reach"] == json_of(
            measure(weights=W, bias=2 * B, reach=True)
        )
    alone = json.loads(gnc("measure", given[-6], given[-5], "--reach", "--json").stdout)
    bias = {"bias": B} if "fc.bias" in others else {}
    assert alone["reach"] == json_of(measure(weights=W, reach=True, **bias))
    assert alone["notes"] == [note]


def json_of(result: MeasureResult) -> Any:
    return json.loads(json.dumps(result.to_json()["reach"]))


def test_vectors_of_other_layers_are_no_bias(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"fc.weight": W, "fc.bias": B, "n.weight": B, "n.bias": B}
    arrays |= {"flat.running_mean": B, "optimizer.state.m": B, "count": np.arange(V)}
    arrays |= {f"blocks.{i}.gamma": B for i in range(2)}
    torch.save(tensors(arrays), tmp_path / "m.pt")
    found = measure(tmp_path / "m.pt", reach=True)
    assert found.notes == () and found.reach == measure(weights=W, bias=B, reach=True).reach


def test_a_negative_factor_of_the_logits_is_refused(gnc: Any, tmp_path: Path) -> None:
    folder = model(tmp_path / "m", LLAMA | {"logit_scale": -0.5}, {"lm_head.weight": W})
    run = gnc("measure", folder)
    assert (
        run.exit_code == 3 and "a negative factor of the logits, logit_scale = -0.5" in run.stderr
    )
    assert gnc(*run.stderr.rpartition(": gnc ")[2].split()).exit_code == 0


# The hub ------------------------------------------------------------------------------------------


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """A stand-in for huggingface_hub: models of `tmp_path/hub`, its cache `tmp_path/cache`."""
    fetched: list[str] = []
    package, errors = ModuleType("huggingface_hub"), ModuleType("huggingface_hub.errors")

    class EntryNotFoundError(OSError): ...

    class LocalEntryNotFoundError(EntryNotFoundError): ...

    class RepositoryNotFoundError(OSError): ...

    class GatedRepoError(RepositoryNotFoundError): ...

    class RevisionNotFoundError(OSError): ...

    for kind in (
        EntryNotFoundError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        GatedRepoError,
        RevisionNotFoundError,
    ):
        setattr(errors, kind.__name__, kind)
    network = {"down": False}

    def place(repo: str, file: str, revision: str | None) -> Path:
        return tmp_path / "cache" / repo.replace("/", "--") / (revision or "main") / file

    def cached(repo: str, file: str, revision: str | None = None) -> object:
        path = place(repo, file, revision)
        return str(path) if path.exists() else None

    def url(repo: str, file: str, revision: str | None = None) -> tuple[str, str, str | None]:
        return repo, file, revision

    def metadata(url: tuple[str, str, str | None]) -> None:
        repo, file, revision = url
        source = tmp_path / "hub" / repo / (revision or "main")
        if network["down"]:
            raise ArithmeticError("whatever the package behind it raises")
        if "gated" in repo:
            raise GatedRepoError("401")
        if not (tmp_path / "hub" / repo).exists():
            raise RepositoryNotFoundError("401")
        if not source.exists():
            raise RevisionNotFoundError("404")
        if not (source / file).exists():
            raise EntryNotFoundError("404")

    def download(repo: str, file: str, revision: str | None = None) -> str:
        fetched.append(file)
        source = tmp_path / "hub" / repo / (revision or "main")
        path = place(repo, file, revision)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((source / file).read_bytes())
        return str(path)

    vars(package).update(
        try_to_load_from_cache=cached,
        hf_hub_url=url,
        get_hf_file_metadata=metadata,
        hf_hub_download=download,
        errors=errors,
    )
    monkeypatch.setitem(sys.modules, "huggingface_hub", package)
    monkeypatch.setitem(sys.modules, "huggingface_hub.errors", errors)

    def control(*, down: bool = False) -> list[str]:
        network["down"] = down
        seen, fetched[:] = fetched[:], []
        return seen

    return control


def test_a_model_of_the_hub(tmp_path: Path, hub: Callable[..., list[str]]) -> None:
    place = tmp_path / "hub" / "org" / "llama"
    place.mkdir(parents=True)
    model(place / "main", LLAMA, {"lm_head.weight": W}, BODY)
    model(place / "v1", LLAMA | {"tie_word_embeddings": True}, {"model.embed_tokens.weight": W})
    found = measure("hf:org/llama")
    assert found.gnc2 == EXPECTED and found.file == "hf:org/llama"
    said = "lm_head.weight: output head of LlamaForCausalLM, commit main"  # a hash, of the hub
    assert found.policy.head == said
    index, shard = "model.safetensors.index.json", "model-00000-of-00002.safetensors"
    assert hub() == ["config.json", index, shard]  # the other shard is not needed
    tied = measure(weights="hf:org/llama@v1")
    assert tied.gnc2 == EXPECTED and "tied" in str(tied.policy.head)
    assert hub(down=True) == ["config.json", "model.safetensors"]
    assert measure("hf:org/llama").gnc2 == measure("hf:org/llama@v1").gnc2 == EXPECTED
    named = measure("hf:org/llama:lm_head.weight")
    assert named.gnc2 == EXPECTED and named.policy.head == "lm_head.weight, commit main"
    assert hub() == []


def test_the_shard_of_the_bias_is_fetched_too(
    tmp_path: Path, hub: Callable[..., list[str]]
) -> None:
    place = tmp_path / "hub" / "org" / "phi"
    place.mkdir(parents=True)
    model(place / "main", LLAMA, {"lm_head.weight": W}, BODY, {"lm_head.bias": B})
    found = measure("hf:org/phi", reach=True)
    assert found.reach == measure(weights=W, bias=B, reach=True).reach
    shards = [f"model-0000{i}-of-00003.safetensors" for i in (0, 2)]
    assert hub() == ["config.json", "model.safetensors.index.json", *shards]


@pytest.mark.parametrize("name", ["org/--x", "org/..", "-x", "a/b/c", "", "org/", "a b"])
def test_names_that_the_hub_does_not_allow(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)  # not asked
    with pytest.raises(UsageError, match=f"'hf:{name}' is not a model of the hub; write hf:org"):
        measure(f"hf:{name}")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("org/none", "no public model 'hf:org/none'"),
        ("org/gated", "accept its terms"),
        ("org/m@v9", "no public model"),
        ("org/bare", "has none of model.safetensors"),
        ("org/empty", "has no config.json"),
    ],
)
def test_models_that_the_hub_does_not_give(
    tmp_path: Path, hub: Callable[..., list[str]], name: str, words: str
) -> None:
    for repository in ("m", "bare", "empty"):
        (tmp_path / "hub" / "org" / repository / "main").mkdir(parents=True)
    (tmp_path / "hub" / "org" / "bare" / "main" / "config.json").write_text("{}")
    with pytest.raises(DataError, match=words):
        measure(f"hf:{name}")
    hub(down=True)
    advice = f"cannot be reached; fetch it with `hf download {name.partition('@')[0]}"
    with pytest.raises(UnavailableError, match=advice):
        measure(f"hf:{name}")


def test_the_hub_needs_its_package_and_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UnavailableError, match="pip install 'gnc-cli\\[trainers\\]'"):
        measure("hf:org/llama")
    with pytest.raises(UsageError, match="write hf:org/name"):
        hub_name("hf:a/b/c")
    assert hub_name("model.pt") is None
