"""Which images of a folder belong to which class, and which are for testing.

Three layouts are known: `train/CLASS/...` with `test/CLASS/...` or `val/CLASS/...`; Tiny-ImageNet's
(`val/images` with `val_annotations.txt`, names in `words.txt`), of which `val` may be named alone;
and `CLASS/...` alone. Hidden files and files that are no images by their suffix are passed over;
links to folders are followed for the folder of a class and no deeper.
"""

import os
from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gnc_cli.errors import DataError
from gnc_cli.io.catalogue import translated
from gnc_cli.io.lines import read_lines

__all__ = ["FolderLayout", "ImageFiles", "find_layout"]

_SUFFIXES = (
    ".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".ppm", ".pgm", ".pbm", ".tif", ".tiff",
)  # fmt: skip
_TEST_PARTS = ("test", "val", "valid", "validation")
_ANNOTATIONS = "val_annotations.txt"
_FIFTH = 5
_NAMED = 5


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Files that look like images, not opened yet, and the class of each."""

    paths: list[str]
    labels: np.ndarray
    """int64 (N,)."""


@dataclass(frozen=True, eq=False)
class FolderLayout:
    """What a folder holds."""

    class_names: tuple[str, ...]
    train: ImageFiles
    test: ImageFiles | None
    split: str
    """Where the test images come from: `test`, `val`; `fifth` where each fifth image is held back,
    `none` where there are too few for that."""
    warnings: list[str] = field(default_factory=list)


def find_layout(
    path: str, choose: Callable[[Sequence[str]], Sequence[int]] | None = None
) -> FolderLayout:
    """The classes of a folder in sorted order, and their images in sorted order.

    Args:
        path: the folder.
        choose: picks from the names of the classes those to keep, by number, in the new order.

    Raises:
        DataError: no such folder; images without class folders; test images of unknown classes;
            fewer than 2 classes.
    """
    root = Path(path).expanduser()
    if not root.is_dir():
        what = "is a file, not a folder" if root.exists() else "does not exist"
        raise DataError(f"{path!r} {what}; write folder:PATH with one folder a class in it")
    with translated(path, "a folder of images"):
        return _layout(root, choose)


def _layout(root: Path, choose: Callable[[Sequence[str]], Sequence[int]] | None) -> FolderLayout:
    base = root / "train" if (root / "train").is_dir() else root
    if base == root and (root / _ANNOTATIONS).is_file():
        return _annotated_alone(root, choose)
    folders = _class_folders(base)
    if not folders or {folder.lower() for folder in folders} <= {"images", *_TEST_PARTS}:
        raise DataError(_flat(base, folders))
    if len(folders) < 2:
        raise DataError(f"{str(base)!r} has one class folder, {folders[0]!r}; expected two or more")
    names = _words(root, folders)
    order = list(range(len(folders)) if choose is None else choose(names))
    kept = [folders[k] for k in order]
    chosen = tuple(names[k] for k in order)
    files = [_image_files(base / folder) for folder in kept]
    warnings = []
    if count := sum(map(_is_image, os.listdir(base))):
        warnings.append(f"{count} image(s) beside the class folders of {base.name} are left out")
    if base != root:
        test, part = _test_files(root, folders, kept)
        if test is not None:
            return FolderLayout(chosen, _listed(files), test, part, warnings)
    return _split(chosen, files, warnings)


def _annotated_alone(
    root: Path, choose: Callable[[Sequence[str]], Sequence[int]] | None
) -> FolderLayout:
    """Tiny-ImageNet's val folder by itself; its words.txt lies beside it."""
    lines = _annotations(root)
    folders = sorted({folder for _, folder in lines})
    if len(folders) < 2:
        raise DataError(
            f"{str(root / _ANNOTATIONS)!r} names {len(folders)} class(es); expected two or more"
        )
    named = root if (root / "words.txt").is_file() else root.resolve().parent
    names = _words(named, folders)
    order = range(len(folders)) if choose is None else choose(names)
    files = [sorted(p for p, folder in lines if folder == folders[k]) for k in order]
    return _split(tuple(names[k] for k in order), files, [])


def _split(
    chosen: tuple[str, ...], files: Sequence[Sequence[str]], warnings: list[str]
) -> FolderLayout:
    """Each fifth image of a class is held back for testing."""
    held = [found[_FIFTH - 1 :: _FIFTH] for found in files]
    rest = [[p for i, p in enumerate(found) if i % _FIFTH < _FIFTH - 1] for found in files]
    if not any(held):
        return FolderLayout(chosen, _listed(files), None, "none", warnings)
    return FolderLayout(chosen, _listed(rest), _listed(held), "fifth", warnings)


def _test_files(
    root: Path, folders: Sequence[str], kept: Sequence[str]
) -> tuple[ImageFiles | None, str]:
    """Those of the first part that has labels, and its name."""
    refusal = None
    for part in _TEST_PARTS:
        base = root / part
        if not base.is_dir():
            continue
        if (base / _ANNOTATIONS).is_file():
            return _annotated(base, folders, kept), part
        found = _class_folders(base)
        strangers = [folder for folder in found if folder not in set(folders)]
        if not found or [name.lower() for name in found] == ["images"]:
            refusal = refusal or _flat(base, found)
        elif strangers:
            raise DataError(
                f"{str(base)!r} has {len(strangers)} class(es) that {str(root / 'train')!r} has "
                f"not: {_some(strangers)}; rename or remove them"
            )
        else:
            return _listed([_image_files(base / name) for name in kept]), part
    if refusal is not None:
        raise DataError(refusal)
    return None, ""


def _annotated(base: Path, folders: Sequence[str], kept: Sequence[str]) -> ImageFiles:
    """Tiny-ImageNet's validation images."""
    numbers = {folder: k for k, folder in enumerate(kept)}
    found = [(p, numbers[name]) for p, name in _annotations(base, set(folders)) if name in numbers]
    labels = np.array([label for _, label in found], dtype=np.int64)
    return ImageFiles([path for path, _ in found], labels)


def _annotations(base: Path, known: Container[str] | None = None) -> list[tuple[str, str]]:
    """Path and class of each image; a line has file, class and a box, between tabs."""
    where = base / _ANNOTATIONS
    found = []
    for count, line in enumerate(read_lines(str(where)), start=1):
        file, _, name = line.partition("\t")
        name = name.partition("\t")[0]
        if not name or os.sep in file or (known is not None and name not in known):
            of = " of train/" if known is not None else ""
            raise DataError(
                f"{str(where)!r}, line {count}: {line[:60]!r} names no file and class{of}; "
                "expected FILE, a tab and the name of a class folder"
            )
        found.append((str(base / "images" / file), name))
    return found


def _class_folders(base: Path) -> list[str]:
    with os.scandir(base) as entries:
        return sorted(e.name for e in entries if not e.name.startswith(".") and e.is_dir())


def _image_files(folder: Path) -> list[str]:
    """All below a folder, whatever folders it has inside."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.join(place, name) for name in files if _is_image(name)]
    return sorted(found)


def _is_image(name: str) -> bool:
    return not name.startswith(".") and name.lower().endswith(_SUFFIXES)


def _listed(files: Sequence[Sequence[str]]) -> ImageFiles:
    labels = np.repeat(np.arange(len(files)), [len(found) for found in files])
    return ImageFiles([path for found in files for path in found], labels.astype(np.int64))


def _words(root: Path, folders: Sequence[str]) -> tuple[str, ...]:
    """The first word of each class in words.txt where it names them all; else the folders'."""
    where = root / "words.txt"
    if not where.is_file():
        return tuple(folders)
    pairs = (line.split("\t", 1) for line in read_lines(str(where)))
    words: dict[str, Any] = {pair[0]: pair[1].split(",")[0].strip() for pair in pairs if pair[1:]}
    if not all(words.get(folder) for folder in folders):
        return tuple(folders)
    times = Counter(words[folder] for folder in folders)
    return tuple(
        words[folder] if times[words[folder]] == 1 else f"{words[folder]} ({folder})"
        for folder in folders
    )


def _flat(base: Path, folders: Sequence[str]) -> str:
    """Why a folder is refused that has images and no classes, or neither."""
    place = base / folders[0] if len(folders) == 1 else base
    count = sum(_is_image(name) for name in os.listdir(place))
    if folders and len(folders) > 1:
        return (
            f"{str(base)!r} has {', '.join(folders)} and no train/; that is the folder of the "
            "training images, with one folder a class in it"
        )
    if not count:
        return f"{str(base)!r} holds no images; write folder:PATH with one folder a class in it"
    return (
        f"{str(place)!r} holds {count} image(s) and no class folders, so their classes are not "
        f"known; sort them into one folder a class, or add Tiny-ImageNet's {_ANNOTATIONS}"
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(map(repr, names[:_NAMED])) + more
