"""Representatives of a form set under its symmetries: few functions whose spectra are all spectra.

A permutation of the coordinates that respects affine functions changes no absolute Walsh
coefficients but their places, and translations and field automorphisms of trace codes map the set
onto itself. That they do is checked here, on the functions at hand; one that does not is left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from gnc_cli.codes.constructions.forms import FormSet, Span, normal

__all__ = ["Representatives", "representatives"]

MOST_BITS = 24
"""Basis functions whose sums are held as one array of indices (a few times 64 MB)."""


@dataclass(frozen=True)
class Representatives:
    """Functions of one core, one or more of each orbit."""

    core: int
    selections: np.ndarray
    """Which basis functions, as bits, shape (n,)."""
    weights: np.ndarray
    """How many functions of the set each stands for, shape (n,), adding up to all."""


def representatives(forms: FormSet, bits: int) -> Iterator[Representatives]:
    """Functions that represent the first `len(core) << bits`, zero among them.

    Raises:
        ValueError: there are more than 2^24 sums of basis functions.
    """
    if bits > MOST_BITS:
        raise ValueError(f"2^{bits} sums of basis functions are too many to sort into orbits")
    maps = list(_actions(forms, bits))
    cores, core_weights = _orbits(
        len(forms.core), [(on_core, order) for on_core, _, order in maps]
    )
    for core, weight in zip(cores.tolist(), core_weights.tolist(), strict=True):
        # Symmetries that fix the core function sort the sums that are added to it.
        fixing = [
            (_linear_map(images), order) for on_core, images, order in maps if on_core[core] == core
        ]
        selections, weights = _orbits(1 << bits, fixing)
        yield Representatives(core, selections, weights * weight)


def _actions(forms: FormSet, bits: int) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
    """Each symmetry that holds, as a permutation of the cores and images of the basis functions."""
    basis = forms.basis[:bits]
    span = Span(basis)
    index = {core.tobytes(): i for i, core in enumerate(forms.core)}
    for symmetry in forms.symmetries:
        if not _respects_affine(symmetry.permutation, forms.m):
            continue
        found = span.coefficients(normal(basis[:, symmetry.permutation]))
        moved = normal(forms.core[:, symmetry.permutation])
        on_core = [index.get(core.tobytes(), -1) for core in moved]
        if found is None or len(set(on_core)) < len(forms.core) or -1 in on_core:
            continue
        images: np.ndarray = found.astype(np.int64) @ (1 << np.arange(bits, dtype=np.int64))
        trivial = (images == 1 << np.arange(bits)).all() and on_core == list(range(len(on_core)))
        if not trivial:
            yield np.array(on_core), images, symmetry.order


def _respects_affine(permutation: np.ndarray, m: int) -> bool:
    """Whether it is a permutation that takes linear functions to affine ones."""
    d = 1 << m
    if not (np.sort(permutation) == np.arange(d)).all():
        return False
    linear = (permutation >> np.arange(m)[:, None] & 1).astype(np.uint8)
    return not normal(linear).any()


def _linear_map(images: np.ndarray) -> np.ndarray:
    """The linear map of F_2^bits with these images of unit vectors, as a table of indices."""
    table = np.zeros(1, dtype=np.int32)
    for image in images:
        table = np.concatenate([table, table ^ np.int32(image)])
    return table


def _orbits(
    size: int, generators: Sequence[tuple[np.ndarray, int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Representatives and their weights under permutations of range(size) with given orders.

    Every index points to the least that products of powers of the generators reach; any product
    set will do, since each step stays in an orbit.
    """
    least = np.arange(size, dtype=np.int32)
    for permutation, order in generators:
        step, reach = permutation, 1
        while reach < order:
            np.minimum(least, least[step], out=least)
            reach *= 2
            if reach < order:
                step = step[step]
    while not ((further := least[least]) == least).all():
        least = further
    weights = np.bincount(least, minlength=size)
    chosen = np.flatnonzero(weights)
    return chosen, weights[chosen]
