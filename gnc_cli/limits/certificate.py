"""Certificates of upper ends: files that prove how far apart K points in R^d cannot be.

A certificate is a JSON document, plain or gzipped, of a claim and of what proves it:

    every code of K points in R^d has two points whose cosine is above s (at least s, not strict).

So rho*(d, K) < 1 - s (at most 1 - s). `docs/reference/certificate-files.md` has the format and the
proof of every kind, for those who write a verifier of their own.

A file is taken for hostile. What it may hold is limited before it is parsed, and what a kind has to
compute before any arithmetic, which is that of whole numbers and fractions alone.
"""

import gzip
import json
import os
import zlib
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

from gnc_cli.errors import DataError, UsageError
from gnc_cli.geometry.rounding import rounded_up
from gnc_cli.io.atomic import atomic_file
from gnc_cli.io.inputs import GZIP_SIGNATURE, open_input, short_name
from gnc_cli.limits.claim import BoundCertificate, Refuted, Unresolved
from gnc_cli.limits.delsarte_certificate import DelsarteCertificate
from gnc_cli.limits.limit import Limit
from gnc_cli.limits.result import BoundRow, CertificateAnswer
from gnc_cli.limits.three_point_certificate import ThreePointCertificate
from gnc_cli.parameters import Path, spelled
from gnc_cli.records import plain, read_plain
from gnc_cli.runtime.deadline import Deadline

KINDS: dict[str, tuple[type[BoundCertificate], str]] = {
    "delsarte": (DelsarteCertificate, "delsarte-lp"),
    "three-point": (ThreePointCertificate, "three-point"),
}
"""The record of each kind, and the name of the bound that it proves."""
MOST_BYTES = 20_000_000
"""Of a file, unpacked."""
MOST_MARKS = 2_000_000
"""Commas, quotation marks and opened brackets of a file."""
_SECONDS = 300.0
"""Time limit of a check where none is given."""


def verify(path: str, deadline: Deadline) -> CertificateAnswer:
    """Check a file, and say what it proves.

    Args:
        path: of a certificate, `.json` or `.json.gz`; `-` for stdin.
        deadline: of the check; five minutes where it has no limit.

    Raises:
        DataError: it cannot be read, or is no certificate.
    """
    with open_input(path, b"") as file:
        content = file.read(MOST_BYTES + 1)
    try:
        certificate = _read(_unpacked(content) if content.startswith(GZIP_SIGNATURE) else content)
        if not -1 < Fraction(certificate.cosine) < 1:
            raise ValueError("the cosine is not between -1 and 1")
        certificate.check(deadline.within(deadline.seconds or _SECONDS))
    except (Refuted, Unresolved) as error:
        return _answer(
            path,
            certificate,
            "not_proved" if isinstance(error, Refuted) else "undecided",
            str(error),
        )
    except (ValueError, RecursionError) as error:
        raise DataError(  # Python's message of a long number goes on with its own setting
            f"{path!r} is no certificate: {str(error).partition('; use sys')[0]}"
        ) from error
    return _answer(path, certificate, "proved", None)


def _answer(
    path: str,
    certificate: BoundCertificate,
    status: Literal["proved", "not_proved", "undecided"],
    reason: str | None,
) -> CertificateAnswer:
    return CertificateAnswer(
        file=short_name(path),
        kind=certificate.kind,
        d=certificate.d,
        K=certificate.K,
        cosine=certificate.cosine,
        strict=certificate.strict,
        upper=rounded_up(1 - Fraction(certificate.cosine)) if status == "proved" else None,
        status=status,
        reason=reason,
    )


def export(
    path: Path,
    limits: Sequence[Limit],
    rows: Sequence[BoundRow],
    deadline: Deadline,
    *,
    force: bool = False,
) -> CertificateAnswer:
    """Write the certificate of the best bound that has one, gzipped where the path ends in .gz.

    Args:
        path: the target.
        limits: the bounds that were asked.
        rows: what they said of one (d, K).
        deadline: of the call.
        force: replace an existing file.

    Returns:
        What the file proves.

    Raises:
        UsageError: none has one, or the deadline came first.
        OutputError: the file exists without `force`, or cannot be written.
    """
    kinds = {bound: kind for kind, bound in KINDS.values()}
    bounds = {limit.name: limit for limit in limits if limit.name in kinds}
    for row in sorted((row for row in rows if row.name in bounds), key=lambda row: row.margin):
        certificate = kinds[row.name].of_bound(bounds[row.name], row.d, row.K, deadline)
        if certificate is not None:
            content = json.dumps(plain(certificate)).encode("ascii") + b"\n"
            if os.fspath(path).lower().endswith(".gz"):
                content = gzip.compress(content, mtime=0)
            with atomic_file(path, force=force) as file:
                file.write(content)
            return _answer(os.fspath(path), certificate, "proved", None)
    raise UsageError(
        f"{spelled('export')}: the time limit came first; give a longer {spelled('time_limit')}"
        if deadline.expired
        else f"{spelled('export')}: no bound has a certificate at this d and K; drop it"
    )


def _read(content: bytes) -> BoundCertificate:
    """The record of an unpacked file.

    Raises:
        ValueError, RecursionError: it is no certificate, or larger than one may be.
    """
    if len(content) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
    if sum(content.count(mark) for mark in (b",", b'"', b"[", b"{")) > MOST_MARKS:
        raise ValueError(f"it has more than {MOST_MARKS:,} commas, quotes and brackets")
    document = json.loads(content.decode("utf-8"), object_pairs_hook=_distinct)
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind not in [*KINDS]:
        raise ValueError(f"its kind is none of {', '.join(KINDS)}")
    certificate: BoundCertificate = read_plain(KINDS[kind][0], document)
    return certificate


def _unpacked(content: bytes) -> bytes:
    """One member of gzip; a byte more than `MOST_BYTES` of a larger one."""
    packed = zlib.decompressobj(wbits=31)
    try:
        unpacked = packed.decompress(content, MOST_BYTES + 1)
    except zlib.error as error:
        raise ValueError(f"it cannot be unpacked ({error})") from error
    if len(unpacked) <= MOST_BYTES and (not packed.eof or packed.unused_data):
        raise ValueError("its gzip ends too early, or bytes follow it")
    return unpacked


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object without repeated keys, which programs read in different ways."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("an object has a key twice")
    return dict(pairs)
