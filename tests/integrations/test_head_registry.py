"""The output heads of transformers' architectures: W and b as read from the saved model give the
logits that the model gives, or nothing is proved of it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import transformers
from scipy.optimize import linprog

from gnc_cli import measure
from gnc_cli.collapse.dataset import Dataset
from gnc_cli.collapse.request import Measure
from gnc_cli.collapse.run import selection_of
from gnc_cli.collapse.sources import resolve

V, K, D = 40, 5, 8
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
BERT = {
    "vocab_size": V,
    "hidden_size": D,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": D,
    "max_position_embeddings": 32,
    "pad_token_id": 0,
}
LLAMA = BERT | TOKENS | {"num_key_value_heads": 2, "head_dim": 4}
GPT2 = TOKENS | {"vocab_size": V, "n_embd": D, "n_layer": 1, "n_head": 2, "n_positions": 32}
BART = TOKENS | {
    "vocab_size": V,
    "d_model": D,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": D,
    "decoder_ffn_dim": D,
    "max_position_embeddings": 32,
    "decoder_start_token_id": 1,
}
T5 = {
    "vocab_size": V,
    "d_model": D,
    "d_kv": 4,
    "d_ff": D,
    "num_layers": 1,
    "num_decoder_layers": 1,
    "num_heads": 2,
    "pad_token_id": 0,
    "decoder_start_token_id": 0,
}
VIT = BERT | {"image_size": 8, "patch_size": 4}
SPEECH = BERT | {
    "conv_dim": (D, D),
    "conv_stride": (5, 2),
    "conv_kernel": (10, 3),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
}
XLM = {"vocab_size": V, "emb_dim": D, "n_layers": 1, "n_heads": 2, "pad_index": 0}
MODELS: dict[str, dict[str, Any]] = {
    # Causal
    "LlamaForCausalLM": LLAMA | {"tie_word_embeddings": False},
    "Qwen2ForCausalLM": LLAMA | {"tie_word_embeddings": True},
    "GPT2LMHeadModel": GPT2,
    "OpenAIGPTLMHeadModel": GPT2,
    "GPTJForCausalLM": GPT2 | {"rotary_dim": 2},
    "CodeGenForCausalLM": GPT2 | {"n_head": 4, "rotary_dim": 2},
    "CTRLLMHeadModel": GPT2 | {"dff": D},
    "GPTNeoXForCausalLM": BERT,
    "PhiForCausalLM": LLAMA,
    "OPTForCausalLM": BERT | {"word_embed_proj_dim": 4, "ffn_dim": D},
    "BioGptForCausalLM": BERT,
    "MambaForCausalLM": {"vocab_size": V, "hidden_size": D, "num_hidden_layers": 1},
    # Masked
    "AlbertForMaskedLM": BERT | {"embedding_size": 4},
    "BertForMaskedLM": BERT,
    "BertForPreTraining": BERT,
    "BigBirdForMaskedLM": BERT | {"attention_type": "original_full"},
    "CamembertForMaskedLM": BERT,
    "ConvBertForMaskedLM": BERT | {"embedding_size": 4},
    "DebertaForMaskedLM": BERT,
    "DebertaV2ForMaskedLM": BERT,
    "DistilBertForMaskedLM": TOKENS
    | {"vocab_size": V, "dim": D, "n_layers": 1, "n_heads": 2, "hidden_dim": D},
    "ElectraForMaskedLM": BERT | {"embedding_size": 4},
    "EsmForMaskedLM": BERT | {"mask_token_id": 3},
    "FlaubertWithLMHeadModel": XLM,
    "FNetForMaskedLM": BERT,
    "FunnelForMaskedLM": {
        "vocab_size": V,
        "d_model": D,
        "block_sizes": [1],
        "n_head": 2,
        "d_head": 4,
        "d_inner": D,
    },
    "LongformerForMaskedLM": BERT | {"attention_window": 4},
    "ModernBertForMaskedLM": LLAMA,
    "MPNetForMaskedLM": BERT,
    "RemBertForMaskedLM": BERT | {"input_embedding_size": 4, "output_embedding_size": 6},
    "RobertaForMaskedLM": BERT,
    "XLMWithLMHeadModel": XLM,
    "XLNetLMHeadModel": {"vocab_size": V, "d_model": D, "n_layer": 1, "n_head": 2, "d_inner": D},
    # Sequence to sequence
    "BartForConditionalGeneration": BART,
    "MBartForConditionalGeneration": BART,
    "MarianMTModel": BART,
    "PegasusForConditionalGeneration": BART,
    "M2M100ForConditionalGeneration": BART,
    "WhisperForConditionalGeneration": BART | {"num_mel_bins": 4, "max_source_positions": 10},
    # Classifiers
    "BertForSequenceClassification": BERT,
    "BertForTokenClassification": BERT,
    "BartForSequenceClassification": BART,
    "DistilBertForSequenceClassification": {"vocab_size": V, "dim": D, "n_layers": 1, "n_heads": 2},
    "ElectraForSequenceClassification": BERT,
    "GPT2ForSequenceClassification": GPT2,
    "RobertaForSequenceClassification": BERT,
    "ViTForImageClassification": VIT,
    "DeiTForImageClassification": VIT,
    "BeitForImageClassification": VIT,
    "ResNetForImageClassification": {
        "embedding_size": D,
        "hidden_sizes": [D],
        "depths": [1],
        "num_channels": 3,
    },
    "Wav2Vec2ForCTC": SPEECH,
}
INCREASING: dict[str, tuple[dict[str, Any], str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "CohereForCausalLM": (LLAMA | {"logit_scale": 0.25}, "logit_scale = 0.25", lambda z: z / 4),
    "GraniteForCausalLM": (LLAMA | {"logits_scaling": 4.0}, "logits_scaling = 4", lambda z: z / 4),
    "Gemma2ForCausalLM": (
        LLAMA | {"final_logit_softcapping": 3.0},
        "final_logit_softcapping = 3",
        lambda z: 3 * torch.tanh(z / 3),
    ),
    "T5ForConditionalGeneration": (T5, "features times d_model ** -0.5", lambda z: z),
}
"""Models whose logits increase with W h + b: the note, and the function."""
JOINED = {
    "MobileBertForMaskedLM": BERT
    | {
        "embedding_size": 4,
        "intra_bottleneck_size": 4,
        "true_hidden_size": 4,
    },
    "DeiTForImageClassificationWithTeacher": VIT,
}
"""Models whose head is of two matrices."""


class Saved(NamedTuple):
    """A model with random weights and biases that was saved, and a call of it."""

    logits: torch.Tensor
    """(..., K)."""
    seen: list[torch.Tensor]
    """All tensors that its modules took and gave."""
    network: Any


def save(name: str, options: dict[str, Any], folder: Path) -> Saved:
    torch.manual_seed(0)
    kind = getattr(transformers, name)
    labels = {"num_labels": K} if "Classification" in name else {}
    network = kind(kind.config_class(**options, **labels)).eval()
    with torch.no_grad():
        for key, tensor in [*network.named_parameters(), *network.named_buffers()]:
            if "bias" in key or tensor.shape[:1] in ((V,), (K,)):
                tensor.normal_()
    network.save_pretrained(folder)
    seen: list[torch.Tensor] = []

    def listen(module: Any, args: Any, kwargs: Any, output: Any) -> None:
        outputs = output if isinstance(output, tuple) else (output,)
        for value in (*args, *kwargs.values(), *outputs):
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                seen.append(value.detach().double().clone())

    for module in network.modules():
        module.register_forward_hook(listen, with_kwargs=True)
    ids = torch.randint(3, V, (2, 7))
    inputs: dict[str, Any] = {network.main_input_name: ids}
    if network.main_input_name == "pixel_values":
        inputs = {"pixel_values": torch.randn(2, 3, 8, 8)}
    elif network.main_input_name == "input_values":
        inputs = {"input_values": torch.randn(2, 200)}
    elif network.main_input_name == "input_features":
        inputs = {"input_features": torch.randn(2, 4, 20), "decoder_input_ids": ids}
    elif network.config.is_encoder_decoder and "Classification" not in name:
        inputs["decoder_input_ids"] = ids
    elif network.config.is_encoder_decoder:
        inputs["input_ids"][:, -1] = TOKENS["eos_token_id"]
    with torch.no_grad():
        output = network(**inputs)
    logits = output[0] if "logits" not in output else output.logits
    logits = getattr(output, "prediction_logits", logits)
    return Saved(logits.double(), seen, network)


def read(folder: Path, **options: Any) -> Dataset:
    with resolve(selection_of(Measure(files=(str(folder),), **options)))[0].open() as samples:
        return samples


def linear(samples: Dataset, features: torch.Tensor) -> torch.Tensor:
    assert samples.weights is not None
    bias = 0.0 if samples.bias is None else torch.from_numpy(samples.bias)
    return features @ torch.from_numpy(samples.weights).T + bias


def explains(
    samples: Dataset, saved: Saved, function: Callable[[torch.Tensor], torch.Tensor] = lambda z: z
) -> bool:
    """Whether the logits are W h + b, or a function of it, of a tensor h of the model."""
    assert samples.weights is not None
    for features in saved.seen:
        if features.shape[-1] == samples.weights.shape[1]:
            logits = function(linear(samples, features))
            ways = [logits] if logits.ndim == saved.logits.ndim else [*logits.unbind(1)]
            for way in ways:
                same_shape = way.shape == saved.logits.shape
                if same_shape and torch.allclose(way, saved.logits, rtol=1e-4, atol=1e-4):
                    return True
    return False


@pytest.mark.parametrize("name", MODELS)
def test_logits_are_those_of_the_head_that_is_read(tmp_path: Path, name: str) -> None:
    saved = save(name, MODELS[name], tmp_path)
    samples = read(tmp_path, reach=True)
    assert explains(samples, saved)
    assert samples.notes == ()


@pytest.mark.parametrize("name", INCREASING)
def test_increasing_functions_of_logits_are_named(tmp_path: Path, name: str) -> None:
    options, words, function = INCREASING[name]
    saved = save(name, options, tmp_path)
    samples = read(tmp_path, reach=True)
    assert explains(samples, saved, function)
    (note,) = samples.notes
    assert words in note and "the same classes win" in note


@pytest.mark.parametrize("name", JOINED)
def test_heads_of_two_matrices_prove_nothing(gnc: Any, tmp_path: Path, name: str) -> None:
    saved = save(name, JOINED[name], tmp_path)
    assert not explains(read(tmp_path), saved)
    run = gnc("measure", str(tmp_path), "--classes", "nonzero")
    assert run.exit_code == 0
    assert re.search(
        r"note '\S+': dataset '\S+': \w+ (joins|averages) ", " ".join(run.stdout.split())
    )
    run = gnc("measure", str(tmp_path), "--reach")
    assert run.exit_code == 3 and "nothing is proved of the network" in run.stderr
    (named,) = re.findall(r"(--weights \S+) for this layer only", run.stderr)
    assert gnc("measure", *named.split(), "--reach").exit_code == 0


@pytest.mark.parametrize(
    "name", ["BertForMaskedLM", "DistilBertForMaskedLM", "BartForConditionalGeneration"]
)
def test_classes_that_cannot_win_do_not_win(tmp_path: Path, name: str) -> None:
    options = {key: 4 if value == D else value for key, value in MODELS[name].items()}
    network = save(name, options, tmp_path).network
    head = network.get_output_embeddings()
    bias = head.bias if head.bias is not None else network.final_logits_bias
    result = measure(tmp_path, reach=True)
    assert result.reach is not None and result.reach.biased
    lost = [row.labels[0] for row in result.reach.unreachable_rows]
    assert lost
    W, b = head.weight.detach().double().numpy(), bias.detach().double().numpy().ravel()
    for k in lost:
        others = np.delete(np.arange(len(W)), k)
        # The largest margin of the class over the others, at most 1, for features in a large box.
        found = linprog(
            np.r_[np.zeros(W.shape[1]), -1.0],
            A_ub=np.c_[W[others] - W[k], np.ones(len(others))],
            b_ub=b[k] - b[others],
            bounds=[(-1e5, 1e5)] * W.shape[1] + [(None, 1.0)],
        )
        assert found.status == 0 and -found.fun <= 1e-6


def test_a_matrix_of_its_own_comes_before_a_tied_embedding(tmp_path: Path) -> None:
    name = "BertForMaskedLM"
    save(name, BERT | {"tie_word_embeddings": False}, tmp_path)
    text = (tmp_path / "config.json").read_text()
    assert '"tie_word_embeddings": false' in text
    (tmp_path / "config.json").write_text(text.replace(": false", ": true"))
    network = getattr(transformers, name).from_pretrained(tmp_path)
    used = network.get_output_embeddings()
    samples = read(tmp_path)
    assert np.array_equal(samples.weights, used.weight.detach().numpy())
    assert np.array_equal(samples.bias, used.bias.detach().numpy())
    note = samples.notes[-1]
    assert "whose numbers differ" in note and "bert.embeddings.word_embeddings.weight" in note
    other = read(Path(note.rpartition(" ")[2]))
    assert np.array_equal(other.weights, network.get_input_embeddings().weight.detach().numpy())
