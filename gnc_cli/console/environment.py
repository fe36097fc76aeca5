"""What a bug report needs to know, for `gnc --version -v`.

No line names a machine, a user or a folder.
"""

import os
import platform
from collections.abc import Iterator
from importlib.metadata import distributions

from threadpoolctl import threadpool_info

from gnc_cli.codes.certify import certify_code
from gnc_cli.constructions.registry import named_construction
from gnc_cli.known_codes.table import stored_table
from gnc_cli.runtime.memory import free_memory, size, total_memory
from gnc_cli.runtime.threads import available_cores

_PACKAGES = ("numpy", "scipy", "torch", "geoopt", "h5py", "python-flint", "matplotlib", "typer")
_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_CORETYPE", "MKL_CBWR", "ATEN_CPU_CAPABILITY")


def environment() -> Iterator[str]:
    """Lines with versions, cores, memory, the table of known codes, the certificate of a code as it
    comes out here, the GPU and the libraries of linear algebra; what may be broken comes last."""
    versions = {package.name.lower(): package.version for package in distributions()}
    yield f"Python       {platform.python_version()} on {platform.platform()}"
    yield "packages     " + ", ".join(f"{n} {versions.get(n, 'missing')}" for n in _PACKAGES)
    settings = "".join(f", {name}={os.environ[name]}" for name in _SETTINGS if name in os.environ)
    yield f"cores        {available_cores()} of {os.cpu_count()}{settings}"
    yield f"memory       {size(free_memory())} free of {size(total_memory())}"
    stamp = stored_table().stamp
    yield f"known codes  {stamp.rows} of {stamp.date}, sha256 {stamp.sha256[:12]}"
    points = named_construction("icosahedron", 3, 12).build().unit(0, 12)
    rho = certify_code(points, tolerance=1e-9).rho_one_vs_rest
    yield f"icosahedron  rho in [{rho.lower}, {rho.upper}], exactly 1 - 1/sqrt(5) = {1 - 5**-0.5}"
    if "torch" in versions:
        import torch

        names = [torch.cuda.get_device_name(at) for at in range(torch.cuda.device_count())]
        yield f"GPU          {', '.join(names) or 'none'}, CUDA of torch: {torch.version.cuda}"
    for row in threadpool_info():
        yield (
            f"library      {row['internal_api']} {row['version']}, "
            f"kernels {row.get('architecture')}, threads {row['num_threads']}"
        )
