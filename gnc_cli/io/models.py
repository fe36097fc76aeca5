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
_FILES = (
    "model.safetensors.index.json",
    "model.safetensors",
    "pytorch_model.bin.index.json",
    "pytorch_model.bin",
)
"""Where a model's tensors are; the first that is there counts."""
_HUB = re.compile(
    r"hf:(?P<name>(\b[\w.-]+\b/)?\b[\w.-]{1,96}\b)(@(?P<revision>[\w./-]+))?(:(?P<key>.+))?"
)


class HubName(NamedTuple):
    """`hf:org/name@revision:KEY`, taken apart."""

    name: str
    """`org/name`, or the `name` of an old model."""
    revision: str | None
    """A branch, a tag or a commit; None for the default branch."""
    key: str | None
    """A tensor."""


def hub_name(text: str) -> HubName | None:
    """What `hf:org/name[@revision][:KEY]` names; None for any other text.

    Raises:
        UsageError: it begins with `hf:` and goes on otherwise, or the hub allows no such name.

    Example:
        >>> hub_name("hf:org/small@v1:lm_head.weight")
        HubName(name='org/small', revision='v1', key='lm_head.weight')
    """
    if not text.startswith("hf:"):
        return None
    if (match := _HUB.fullmatch(text)) is None:
        raise UsageError(f"{text!r} names no model of the hub; write hf:org/name or hf:org/name@v1")
    return HubName(match["name"], match["revision"], match["key"])


def read_model_config(folder: str) -> dict[str, Any]:
    """The config.json of a model.

    Raises:
        DataError: it is missing, or holds no JSON object.
    """
    path = os.path.join(folder, CONFIG)
    config = read_json(path, "the config.json of a model")
    if not isinstance(config, dict):
        raise DataError(f"{path!r} holds no JSON object; expected the config.json of a model")
    return config


def class_names(folder: str, K: int) -> list[str] | None:
    """The names of the K classes of a model's head, by `id2label` of its config.json, or the tokens
    of a language model by its tokenizer.json; None where these name another number of classes.

    Rows beyond the tokens, which fill up the head, are `(no token)`.

    Raises:
        DataError: a file of these is no JSON.
    """
    with contextlib.suppress(AttributeError, KeyError, OverflowError, TypeError, ValueError):
        labels = read_model_config(folder).get("id2label") or {}
        named = _by_number(labels.items(), K)
        if len(named) != K or all(name == f"LABEL_{k}" for k, name in named.items()):
            named = _by_number(_tokens(folder), K)
        if len(named) > K / 2:
            return [named.get(k, "(no token)") for k in range(K)]
    return None


def _by_number(pairs: Iterable[tuple[Any, Any]], K: int) -> dict[int, str]:
    """Return names by the numbers of their classes; none where there are more names than classes.

    As keys of a dictionary, numbers of a stranger's choice may all have one hash; texts have not.
    """
    names = {str(int(k)): str(name) for k, name in pairs}
    known = names.items() if len(names) <= K else ()
    return {int(k): name for k, name in known if len(k) < 10 and 0 <= int(k) < K}


def _tokens(folder: str) -> list[tuple[Any, Any]]:
    """Return the numbers and tokens of a tokenizer; none where the folder has no tokenizer."""
    path = os.path.join(folder, "tokenizer.json")
    if not os.path.exists(path):
        return []
    tokenizer = read_json(path, "a tokenizer")
    vocabulary = tokenizer["model"]["vocab"]
    tokens = (
        [(token, k) for k, (token, _) in enumerate(vocabulary)]  # and scores, in unigram models
        if isinstance(vocabulary, list)
        else vocabulary.items()
    )
    added = tokenizer.get("added_tokens", ())
    return [(k, token) for token, k in tokens] + [(t["id"], t["content"]) for t in added]


def model_file(folder: str) -> str | None:
    """The file of a folder that has a model's tensors, or lists the files that have; else None."""
    names = sorted(os.listdir(folder))
    others = [name for name in names if name.endswith(".safetensors")]
    files = [name for name in _FILES if name in names] or (others if len(others) == 1 else [])
    return os.path.join(folder, files[0]) if files else None


def fetch_model(
    wanted: HubName, choose: Callable[[Mapping[str, Any], list[str]], list[str]]
) -> str:
    """The local folder of a model of the hub, with its config.json and some tensors.

    Files come from huggingface_hub's cache where they are there, and are fetched into it otherwise.
    Of a model in shards only those with these tensors are fetched.

    Args:
        wanted: the model.
        choose: called with the config and the tensors' names; gives those that are needed. Not
            called for a model in one file.

    Raises:
        UnavailableError: huggingface_hub is not installed, or the hub cannot be reached.
        DataError: there is no such model or revision, or it is not public.
    """
    path = _cached(wanted, CONFIG) or _fetch(wanted, CONFIG)
    if path is None:
        raise DataError(f"'hf:{wanted.name}' has no config.json; is it a model of transformers?")
    folder = os.path.dirname(path)
    # The commit that config.json is of: a branch may move between two files.
    wanted = wanted._replace(revision=os.path.basename(folder))
    places = (find(wanted, name) for find in (_cached, _fetch) for name in _FILES)
    if (path := next(filter(None, places), None)) is None:
        raise DataError(
            f"'hf:{wanted.name}' has none of {', '.join(_FILES)}; fetch its files and name one"
        )
    if path.endswith(".index.json"):
        config = read_model_config(folder)
        with translated(path, "an index of the tensors of its model"):
            shards = dict(read_json(path, "an index of the tensors of its model")["weight_map"])
            names = [wanted.key] if wanted.key else choose(config, list(shards))
        for shard in dict.fromkeys(str(shards.get(name)) for name in names):
            if os.path.basename(shard) == shard and _cached(wanted, shard) is None:
                _fetch(wanted, shard)
    return folder


def _cached(wanted: HubName, file: str) -> str | None:
    """The local path of one file of a model in the cache; None where it is not there.

    Raises:
        UnavailableError: huggingface_hub is not installed.
    """
    instead = ", or name the folder of a model"
    hub = import_extra("huggingface_hub", f"'hf:{wanted.name}'", "trainers", instead)
    place = hub.try_to_load_from_cache(wanted.name, file, revision=wanted.revision)
    return place if isinstance(place, str) else None


def _fetch(wanted: HubName, file: str) -> str | None:
    """The local path of one file of a model, fetched from the hub; None where it has none."""
    from huggingface_hub import errors, get_hf_file_metadata, hf_hub_download, hf_hub_url

    where = f"'hf:{wanted.name}'" + (f", revision {wanted.revision!r}" if wanted.revision else "")
    try:
        # Without a network this fails at once, where the download would retry.
        with waiting(f"{file} of {where}"):
            get_hf_file_metadata(hf_hub_url(wanted.name, file, revision=wanted.revision))
            return str(hf_hub_download(wanted.name, file, revision=wanted.revision))
    except StoppedError:
        raise
    except (errors.RepositoryNotFoundError, errors.RevisionNotFoundError) as error:
        raise DataError(
            f"the hub has no public model {where}; check name and revision, or accept its terms on "
            "the hub and `hf auth login`"
        ) from error
    except Exception as error:  # of the package, or of the one behind it that speaks HTTP
        missing = isinstance(error, errors.EntryNotFoundError)
        if missing and not isinstance(error, errors.LocalEntryNotFoundError):
            return None
        raise UnavailableError(
            f"{where}: {file} is not in the cache, and the hub cannot be reached; fetch it with "
            f"`hf download {wanted.name}` where there is a network, or name a folder"
        ) from error
