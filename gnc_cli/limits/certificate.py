"""Certificates: files that prove how far apart K points in R^d can be, or cannot be.

A certificate of an upper end is a JSON document, plain or gzipped, with a claim and its proof:

    every code of K points in R^d has two points whose cosine is above s (at least s, not strict).

So rho*(d, K) < 1 - s (at most 1 - s). `docs/reference/certificate-files.md` has the format and the
proof of every kind, for authors of other verifiers. Another kind proves that a local optimum lies
near a code. A lower end is a folder: coordinates, and a claim about them.

Files may be hostile. Their size is limited before they are parsed, and the amount of computation
before it begins. All arithmetic is that of whole numbers and fractions.
"""

import gzip
import json
import os
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import PurePath
from typing import Any, Literal, cast

from gnc_cli.codes.exact_cosine import ExactRows, verify_below
from gnc_cli.errors import DataError, UsageError
from gnc_cli.geometry.rounding import rounded_down, rounded_up
from gnc_cli.io.atomic import atomic_file
from gnc_cli.io.inputs import GZIP_SIGNATURE, open_input, short_name
from gnc_cli.limits.claim import (
    BoundCertificate,
    Claim,
    RefutedError,
    UnresolvedError,
    document,
    enclosure,
)
from gnc_cli.limits.delsarte_certificate import DelsarteCertificate, QuadraticCertificate
from gnc_cli.limits.limit import Limit
from gnc_cli.limits.local_optimum import LocalOptimum
from gnc_cli.limits.result import BoundRow, CertificateAnswer
from gnc_cli.limits.three_point_certificate import ThreePointCertificate
from gnc_cli.parameters import Path, spelled
from gnc_cli.plain import read_plain
from gnc_cli.runtime.deadline import Deadline

KINDS: dict[str, tuple[type[Claim], str | None]] = {
    "delsarte": (DelsarteCertificate, "delsarte-lp"),
    "three-point": (ThreePointCertificate, "three-point"),
    "delsarte-sqrt5": (QuadraticCertificate, None),
    "local-optimum": (LocalOptimum, None),
}
"""Record of each kind, and the name of the bound that it proves, if any."""
MOST_BYTES = 20_000_000
"""Largest size of an unpacked file, bytes: far above those that ship, yet little memory."""
MOST_MARKS = 2_000_000
"""Commas, quotation marks and opened brackets of a file: objects that parsing creates."""
_SECONDS = 300.0
"""Default time limit of a check."""
CODE_FILES = ("coordinates.txt", "verified.txt")
"""The two files of a lower end, in one folder."""
_DECIMAL = r"-?\d{1,4299}(?:\.\d{1,4299})?"
_COORDINATES = re.compile(rf"(?:{_DECIMAL}[ \n])+", re.ASCII)
_STATEMENT = re.compile(
    rf"(?:#.*\n)*points (\d{{1,9}})\ndimension (\d{{1,4}})\ncosine_at_most ({_DECIMAL})\n"
    r"sha256_of_coordinates (\w{64})\n",
    re.ASCII,
)
_MOST_PRODUCTS = 10**11
"""Largest K^2 d of a code that is checked, about a minute."""


@dataclass(frozen=True, kw_only=True)
class CodeClaim(Claim):
    """A lower end: points none of whose cosines is above a number."""

    sha256: str
    """Claimed hash of the coordinates."""
    coordinates: str
    """One line of decimal numbers per point."""

    @classmethod
    def read(cls, folder: str) -> "CodeClaim":
        """Read the two files of a folder.

        Raises:
            ValueError: they are not in the format.
        """
        texts = []
        for name in CODE_FILES:
            with open_input(os.path.join(folder, name)) as file:
                texts.append(file.read(MOST_BYTES + 1).decode("ascii"))
        match = _STATEMENT.fullmatch(texts[1])
        if match is None or not _COORDINATES.fullmatch(texts[0]):
            raise ValueError(f"{' and '.join(CODE_FILES)} do not have the format of a lower end")
        return cls(
            certificate="gnc/1",
            kind="code",
            K=int(match[1]),
            d=int(match[2]),
            cosine=match[3],
            sha256=match[4],
            coordinates=texts[0],
        )

    def check(self, deadline: Deadline) -> None:
        """Compare every cosine of two points with the claimed one; see `Claim.check`."""
        if self.K**2 * self.d > _MOST_PRODUCTS or len(self.coordinates) > MOST_BYTES:
            raise UnresolvedError(f"K^2 d is above {_MOST_PRODUCTS:.0e}, or the file too large")
        if sha256(self.coordinates.encode()).hexdigest() != self.sha256:
            raise RefutedError("the coordinates have another hash")
        rows = [line.split() for line in self.coordinates.splitlines()]
        if len(rows) != self.K or {*map(len, rows)} != {self.d}:
            raise RefutedError(f"the coordinates are not {self.K:,} points of {self.d:,} numbers")
        try:
            verdict = verify_below(ExactRows.from_texts(rows), Fraction(self.cosine))
        except DataError as error:  # a row of zeros
            raise RefutedError(str(error)) from error
        if not verdict:
            undecided = "too many cosines lie within rounding of the claimed one"
            raise (
                UnresolvedError(undecided) if verdict is None else RefutedError("a cosine is above")
            )


def verify(path: str, deadline: Deadline) -> CertificateAnswer:
    """Check a file, and return what it proves.

    Args:
        path: a certificate, `.json` or `.json.gz`; `-` for stdin; a folder with the two files of a
            lower end; or one of these two files.
        deadline: deadline of the check; five minutes if it has no limit.

    Raises:
        DataError: the file cannot be read, or is not a certificate.
    """
    certificate: Claim
    try:
        if os.path.isdir(path):
            certificate = CodeClaim.read(path)
        elif PurePath(path).name in CODE_FILES:
            certificate = CodeClaim.read(os.path.dirname(path))
        else:
            with open_input(path, b"") as file:
                content = file.read(MOST_BYTES + 1)
            is_packed = content.startswith(GZIP_SIGNATURE)
            certificate = _read(_unpacked(content) if is_packed else content)
        low, high = enclosure(certificate.cosine)
        if not -1 < low <= high < 1:
            raise ValueError("the cosine is not between -1 and 1")
        certificate.check(deadline.limited(deadline.seconds or _SECONDS))
    except (RefutedError, UnresolvedError) as error:
        return _answer(
            path,
            certificate,
            "not_proved" if isinstance(error, RefutedError) else "undecided",
            str(error),
        )
    except (ValueError, RecursionError) as error:
        raise DataError(  # Python's message about a long number ends with advice on a setting
            f"{path!r} is not a certificate: {str(error).partition('; use sys')[0]}"
        ) from error
    return _answer(path, certificate, "proved", None)


def _answer(
    path: str,
    certificate: Claim,
    status: Literal["proved", "not_proved", "undecided"],
    reason: str | None,
) -> CertificateAnswer:
    proved, (low, high) = status == "proved", enclosure(certificate.cosine)
    strict = certificate.strict if isinstance(certificate, BoundCertificate) else None
    radius = certificate.radius if isinstance(certificate, LocalOptimum) else None
    return CertificateAnswer(
        file=short_name(path),
        kind=certificate.kind,
        d=certificate.d,
        K=certificate.K,
        cosine=certificate.cosine,
        strict=strict,
        upper=rounded_up(1 - low) if proved and strict is not None else None,
        lower=rounded_down(1 - high) if proved and strict is None else None,
        radius=None if radius is None else rounded_up(Fraction(radius)),
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
    """Write the certificate of the best bound that has one, gzipped if the path ends in .gz.

    Args:
        path: the target.
        limits: the bounds that were evaluated.
        rows: their rows at one (d, K).
        deadline: deadline of the call.
        force: replace an existing file.

    Returns:
        The claim and status of the file.

    Raises:
        UsageError: no bound has a certificate, or the deadline came first.
        OutputError: the file exists without `force`, or cannot be written.
    """
    kinds = {name: kind for kind, name in KINDS.values() if issubclass(kind, BoundCertificate)}
    bounds = {limit.name: limit for limit in limits if limit.name in kinds}
    for row in sorted((row for row in rows if row.name in bounds), key=lambda row: row.margin):
        certificate = kinds[row.name].from_bound(bounds[row.name], row.d, row.K, deadline)
        if certificate is not None:
            content = document(certificate)
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


def _read(content: bytes) -> Claim:
    """Return the record of an unpacked file.

    Raises:
        ValueError: it is not a certificate, or is larger than `MOST_BYTES` or `MOST_MARKS`.
        RecursionError: it is nested too deeply.
    """
    if len(content) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
    if sum(content.count(mark) for mark in (b",", b'"', b"[", b"{")) > MOST_MARKS:
        raise ValueError(f"it has more than {MOST_MARKS:,} commas, quotes and brackets")
    document = json.loads(content.decode("utf-8"), object_pairs_hook=_distinct)
    kind = document.get("kind") if isinstance(document, dict) else None
    if kind not in [*KINDS]:
        raise ValueError(f"its kind is none of {', '.join(KINDS)}")
    return cast("Claim", read_plain(KINDS[kind][0], document))


def _unpacked(content: bytes) -> bytes:
    """Unpack one gzip member; of a larger file the first `MOST_BYTES` + 1 bytes."""
    packed = zlib.decompressobj(wbits=31)
    try:
        unpacked = packed.decompress(content, MOST_BYTES + 1)
    except zlib.error as error:
        raise ValueError(f"it cannot be unpacked ({error})") from error
    if len(unpacked) <= MOST_BYTES and (not packed.eof or packed.unused_data):
        raise ValueError("its gzip ends too early, or bytes follow it")
    return unpacked


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, and refuse repeated keys, which programs read in different ways."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("an object has a key twice")
    return dict(pairs)
