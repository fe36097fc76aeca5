"""Models as Hugging Face keeps them: a folder with config.json, or a repository of its hub."""

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from gnc_cli.errors import (
    DataError,
    StoppedError,
    UnavailableError,
    UsageError,
    import_extra,
)
from gnc_cli.io.catalogue import translated
from gnc_cli.io.inputs import read_json
from gnc_cli.runtime.deadline import waiting

CONFIG = "config.json"
"""File that describes a model, in its folder."""
_TENSOR_FILES = (
    "model.safetensors.index.json",
    "model.safetensors",
    "pytorch_model.bin.index.json",
    "pytorch_model.bin",
)
"""Files of a model's tensors, by precedence."""
_HUB_NAME = re.compile(
    r"hf:(?P<name>(\b[\w.-]+\b/)?\b[\w.-]{1,96}\b)(@(?P<revision>[\w./-]+))?(:(?P<key>.+))?"
)
"""Name of a model on the hub, which allows 96 letters."""


class HubName(NamedTuple):
    """Parts of `hf:org/name@revision:KEY`."""

    name: str
    """`org/name`, or the `name` of an old model."""
    revision: str | None
    """Branch, tag or commit; None for the default branch."""
    key: str | None
    """Name of a tensor."""


def hub_name(text: str) -> HubName | None:
    """Parse `hf:org/name[@revision][:KEY]`; return None unless the text begins with `hf:`.

    Raises:
        UsageError: the hub does not allow such a name.

    Example:
        >>> hub_name("hf:org/small@v1:lm_head.weight")
        HubName(name='org/small', revision='v1', key='lm_head.weight')
    """
    if not text.startswith("hf:"):
        return None
    if (match := _HUB_NAME.fullmatch(text)) is None:
        raise UsageError(f"{text!r} is not a model of the hub; write hf:org/name or hf:org/name@v1")
    return HubName(match["name"], match["revision"], match["key"])


def read_model_config(folder: str) -> dict[str, Any]:
    """Read the config.json of a model.

    Raises:
        DataError: it is missing, or is not a JSON object.
    """
    path = os.path.join(folder, CONFIG)
    config = read_json(path, "the config.json of a model")
    if not isinstance(config, dict):
        raise DataError(f"{path!r} is not a JSON object; expected the config.json of a model")
    return config


def class_names(folder: str, K: int) -> list[str] | None:
    """Read the names of the K classes of a model's head.

    They are `id2label` of its config.json, or the tokens of a language model by its tokenizer.json.
    Further rows, which pad the head, are `(no token)`.

    Returns:
        None if these files name another number of classes.

    Raises:
        DataError: one of these files is not JSON.
    """
    with contextlib.suppress(AttributeError, KeyError, OverflowError, TypeError, ValueError):
        labels = read_model_config(folder).get("id2label") or {}
        names = _by_number(labels.items(), K)
        if len(names) != K or all(name == f"LABEL_{k}" for k, name in names.items()):
            names = _by_number(_tokens(folder), K)
        if len(names) > K / 2:
            return [names.get(k, "(no token)") for k in range(K)]
    return None


def _by_number(pairs: Iterable[tuple[Any, Any]], K: int) -> dict[int, str]:
    """Return names by class number; none if there are more names than classes.

    Numbers from a file could all have the same hash as keys of a dictionary, unlike texts.
    """
    names = {str(int(k)): str(name) for k, name in pairs}
    items = names.items() if len(names) <= K else ()
    return {int(k): name for k, name in items if len(k) < 10 and 0 <= int(k) < K}


def _tokens(folder: str) -> list[tuple[Any, Any]]:
    """Return the numbers and tokens of a tokenizer; none if the folder has no tokenizer."""
    path = os.path.join(folder, "tokenizer.json")
    if not os.path.exists(path):
        return []
    tokenizer = read_json(path, "a tokenizer")
    vocabulary = tokenizer["model"]["vocab"]
    tokens = (
        [(token, k) for k, (token, _) in enumerate(vocabulary)]  # unigram models: also scores
        if isinstance(vocabulary, list)
        else vocabulary.items()
    )
    added = tokenizer.get("added_tokens", ())
    return [(k, token) for token, k in tokens] + [(t["id"], t["content"]) for t in added]


def model_file(folder: str) -> str | None:
    """Return the file of a folder with a model's tensors, or with their index; None without one."""
    names = sorted(os.listdir(folder))
    others = [name for name in names if name.endswith(".safetensors")]
    files = [name for name in _TENSOR_FILES if name in names] or (
        others if len(others) == 1 else []
    )
    return os.path.join(folder, files[0]) if files else None


def fetch_model(model: HubName, choose: Callable[[Mapping[str, Any], list[str]], list[str]]) -> str:
    """Return the local folder of a model of the hub, with its config.json and some tensors.

    Files are fetched into the cache of huggingface_hub unless they are there. Of a model in shards
    only those with the chosen tensors are fetched.

    Args:
        model: name on the hub.
        choose: function of the config and the tensors' names that returns the names to fetch. Not
            called for a model in one file.

    Raises:
        UnavailableError: huggingface_hub is not installed, or the hub cannot be reached.
        DataError: there is no such model or revision, or it is not public.
    """
    path = _cached(model, CONFIG) or _fetch(model, CONFIG)
    if path is None:
        raise DataError(f"'hf:{model.name}' has no config.json; is it a model of transformers?")
    folder = os.path.dirname(path)
    # The commit of config.json, since a branch may move between two files.
    model = model._replace(revision=os.path.basename(folder))
    paths = (find(model, name) for find in (_cached, _fetch) for name in _TENSOR_FILES)
    if (path := next(filter(None, paths), None)) is None:
        raise DataError(
            f"'hf:{model.name}' has none of {', '.join(_TENSOR_FILES)}; fetch its files and name "
            "one"
        )
    if path.endswith(".index.json"):
        config = read_model_config(folder)
        with translated(path, "an index of the tensors of its model"):
            shards = dict(read_json(path, "an index of the tensors of its model")["weight_map"])
            names = [model.key] if model.key else choose(config, list(shards))
        for shard in dict.fromkeys(str(shards.get(name)) for name in names):
            if os.path.basename(shard) == shard and _cached(model, shard) is None:
                _fetch(model, shard)
    return folder


def _cached(model: HubName, file: str) -> str | None:
    """Return the local path of one file of a model in the cache; None if it is not there.

    Raises:
        UnavailableError: huggingface_hub is not installed.
    """
    advice = ", or name the folder of a model"
    hub = import_extra("huggingface_hub", f"'hf:{model.name}'", "trainers", advice)
    path = hub.try_to_load_from_cache(model.name, file, revision=model.revision)
    return path if isinstance(path, str) else None


def _fetch(model: HubName, file: str) -> str | None:
    """Fetch one file of a model from the hub and return its path; None if the model lacks it."""
    from huggingface_hub import errors, get_hf_file_metadata, hf_hub_download, hf_hub_url

    source = f"'hf:{model.name}'" + (f", revision {model.revision!r}" if model.revision else "")
    try:
        # Without a network this fails at once, whereas the download would retry.
        with waiting(f"{file} of {source}"):
            get_hf_file_metadata(hf_hub_url(model.name, file, revision=model.revision))
            return str(hf_hub_download(model.name, file, revision=model.revision))
    except StoppedError:
        raise
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError) as error:
        raise DataError(
            f"the hub has no public model {source}; check name and revision, or accept its terms "
            "on the hub and `hf auth login`"
        ) from error
    except Exception as error:  # of the package, or of its HTTP client
        missing = isinstance(error, errors.EntryNotFoundError)
        if missing and not isinstance(error, errors.LocalEntryNotFoundError):
            return None
        raise UnavailableError(
            f"{source}: {file} is not in the cache, and the hub cannot be reached; fetch it with "
            f"`hf download {model.name}` where there is a network, or name a folder"
        ) from error
