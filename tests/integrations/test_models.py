"""Models as transformers, its hub and Lightning really write them, measured from disk."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from gnc_cli import measure
from gnc_cli.collapse.result import MeasureResult

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
    return measure(name, classes="nonzero", **options)


@pytest.mark.parametrize("name", MODELS)
def test_the_head_is_that_of_transformers(tmp_path: Path, name: str) -> None:
    head = model(name, tmp_path)
    found, expected = measured(tmp_path), measure(weights=head[head.any(dim=1)])
    assert (found.gnc2, found.K, found.d) == (expected.gnc2, expected.K, expected.d)
    assert found.policy.head is not None and name in found.policy.head
