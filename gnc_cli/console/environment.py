"""What a bug report needs to know, for `gnc --version -v`.

No line names a machine, a user or a folder.
"""

import os
import platform
from collections.abc import Iterator
from importlib.metadata import distributions

from threadpoolctl import threadpool_info

from gnc_cli.known_codes.table import our_copy
from gnc_cli.runtime.memory import free_memory, size, total_memory
from gnc_cli.runtime.threads import available_cores

_PACKAGES = ("numpy", "scipy", "torch", "geoopt", "h5py", "python-flint", "matplotlib", "typer")
_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_CORETYPE", "MKL_CBWR", "ATEN_CPU_CAPABILITY")


def environment() -> Iterator[str]:
    """Lines with versions, cores, memory, the table of known codes, the certificate of a code as it
    comes out here, the GPU and the libraries of linear algebra. What is broken says so.
    """
    versions = {  # an installation that has lost its METADATA has no name
        (package.metadata["Name"] or "").lower().replace("_", "-"): package.version
        for package in distributions()
    }
    system = (platform.system(), platform.machine(), *platform.libc_ver())
    yield f"Python       {platform.python_version()} on {' '.join(system).strip()}"
    yield "packages     " + ", ".join(f"{n} {versions.get(n, 'missing')}" for n in _PACKAGES)
    settings = "".join(f", {name}={os.environ[name]}" for name in _SETTINGS if name in os.environ)
    yield f"cores        {available_cores()} of {os.cpu_count()}{settings}"
    yield f"memory       {size(free_memory())} free of {size(total_memory())}"
    stamp = our_copy().stamp
    yield f"known codes  {stamp.rows} of {stamp.date}, sha256 {stamp.sha256[:12]}"
    for heading, part in (("icosahedron", _icosahedron), ("GPU", _gpu)):
        try:
            text = part()
        except Exception as error:  # a broken package raises anything; its message may name folders
            text = f"unknown: {type(error).__name__}"
        yield f"{heading:<13}{text}"
    for row in sorted(threadpool_info(), key=str):
        words = (row["prefix"], row["internal_api"], row["version"], row.get("architecture"))
        yield f"library      {' '.join(filter(None, words))}, threads {row['num_threads']}"


def _icosahedron() -> str:
    """The certificate of a code whose distance is known exactly."""
    from gnc_cli.codes.certify import certify_code
    from gnc_cli.constructions.registry import named_construction

    points = named_construction("icosahedron", 3, 12).build().unit(0, 12)
    rho = certify_code(points, tolerance=1e-9).rho_one_vs_rest
    return f"rho in [{rho.lower}, {rho.upper}], exactly 1 - 1/sqrt(5) = {1 - 5**-0.5}"


def _gpu() -> str:
    import torch

    names = [torch.cuda.get_device_name(at) for at in range(torch.cuda.device_count())]
    return f"{', '.join(names) or 'none'}, CUDA of torch: {torch.version.cuda or 'none'}"
