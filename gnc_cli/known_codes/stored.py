"""Codes whose coordinates gnc ships: text files, and the atlas of numerical codes.

All were found by this project. `numerical_codes` has the cosines of the atlas and of most files;
some files contain codes of the table that gnc has found again.
"""

from collections.abc import Iterator

import numpy as np

from gnc_cli.known_codes.table import KnownCode, data_folder, numerical_codes, our_copy

ATLAS = "atlas.npz"
"""File of rows as integers, of any common scale, under keys `d.K`."""


def stored_codes(d: int, K: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the shipped codes of (d, K), found by this project: name and unit rows (K, d).

    Files are `coordinates/3.15.txt` and, for codes of the same largest cosine that are not
    congruent to it, `coordinates/3.15.NAME.txt`.
    """
    from gnc_cli.geometry.sphere import normalise

    kind = "code found by gnc" if numerical_codes().find(d, K) else "best known code"
    title = f"{kind} for d = {d}, K = {K}"
    files = (data_folder() / "coordinates").glob(f"{d}.{K}.*txt")
    paths = {".".join(path.name.split(".")[2:-1]): path for path in files}
    for name in sorted(paths):
        rows = normalise(np.loadtxt(paths[name]))
        yield f"{title} ({name})" if name else title, rows
    path = data_folder() / ATLAS
    if not paths and path.exists():
        with np.load(path) as atlas:
            if f"{d}.{K}" in atlas.files:
                yield title, normalise(atlas[f"{d}.{K}"].astype(np.float64))


def stored_entry(d: int, K: int) -> KnownCode | None:
    """Return the entry of the code of exactly this size that is shipped; None without one."""
    solved = numerical_codes().find(d, K)  # each of these has coordinates
    if solved is not None:
        return solved
    file = next((data_folder() / "coordinates").glob(f"{d}.{K}.*txt"), None)
    return None if file is None else our_copy().find(d, K)


def best_stored(d: int, K: int) -> KnownCode | None:
    """Return the best shipped code of K points or more in d dimensions or fewer."""
    entries = filter(None, (stored_entry(d, K), numerical_codes().covering(d, K)))
    return min(entries, key=lambda entry: entry.exact, default=None)


def stored_part(entry: KnownCode, d: int, K: int) -> np.ndarray:
    """Return K unit rows (K, d) of a shipped code of K points or more in d dimensions or fewer.

    Points with the most contacts are removed one by one; new coordinates are zero.
    """
    from gnc_cli.geometry.gram import without_contacts

    _, rows = next(stored_codes(entry.d, entry.K))
    return np.pad(without_contacts(rows, K), ((0, 0), (0, d - entry.d)))
