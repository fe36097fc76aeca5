"""The `gnc` program: registers the commands and turns errors into one line and an exit code."""

import os
import platform
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import gnc_cli
from gnc_cli.console.expose import expose
from gnc_cli.console.process import check_address_space, note, open_streams, report_error
from gnc_cli.errors import ExitCode, UsageError

COMMANDS = {
    "solve": ("gnc solve --d 10 --K 100 --out code.h5", "starting"),
    "measure": ("gnc measure features.h5", "reading files"),
    "bounds": ("gnc bounds --K 1e6 --margin 0.3", "evaluating bounds"),
    "train": (
        "gnc train --classes 100 --feature-dim 10 --plot run.png",
        "reading the data, building the network",
    ),
    "compare": ("gnc compare code.h5", "reading codes"),
}
"""Public function -> the example in its help text, its first stage, before it reports progress."""

_EPILOG = (
    "Exit codes: 0 done, 1 a bug, 2 usage, 3 bad data or unwritable output, 4 target missed or "
    "gate undecided, 5 gate failed, 6 device, package, memory or disk missing, 130 interrupted "
    "(143 by SIGTERM, 129 by SIGHUP while the structure of an HDF5 file is read)."
)

_PACKAGES = ("numpy", "scipy", "torch", "geoopt", "h5py", "python-flint", "matplotlib", "typer")
_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_CORETYPE", "MKL_CBWR", "ATEN_CPU_CAPABILITY")
"""Packages and environment variables on which results may depend, for `gnc --version -v`."""


class Commands(TyperGroup):
    """The commands, each loaded on first use; every error is one line and an `ExitCode`."""

    def __init__(self, **settings: Any) -> None:
        names: Any = dict.fromkeys(COMMANDS)
        super().__init__(**settings | {"commands": names})

    @staticmethod
    def function(name: str) -> Any:
        """Return the function that runs a command; its module also has the public function."""
        return sys.modules[getattr(gnc_cli, name).__module__].command

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, which is built on first use."""
        if cmd_name in COMMANDS and self.commands[cmd_name] is None:
            example, first = COMMANDS[cmd_name]
            single = typer.Typer(rich_markup_mode="rich", add_completion=False)
            single.command(epilog=f"Example: {example}")(
                expose(getattr(gnc_cli, cmd_name), self.function(cmd_name), first)
            )
            self.commands[cmd_name] = typer.main.get_command(single)
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run a command.

        Raises:
            UsageError: `--verify` is given twice.
            UnavailableError: the address space is too small.
        """
        try:
            check_address_space()
            if [word.partition("=")[0] for word in ctx.args].count("--verify") > 1:
                raise UsageError("--verify is given twice; check one certificate after the other")
            return super().invoke(ctx)
        except BrokenPipeError as error:
            note("the reader of stdout has gone; nothing more was written to it")
            raise typer.Exit(ExitCode.DATA) from error

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command line, report its error, and exit with its status."""
        open_streams()
        try:
            status = super().main(*args, **extra | {"standalone_mode": False})
        except SystemExit as end:
            # The reader of a help text may close the pipe (`gnc --help | head`): not a failure.
            status = 0 if isinstance(end.__context__, BrokenPipeError) else end.code
        except Exception as error:
            status = report_error(error)
        sys.exit(status if isinstance(status, int) else ExitCode.OK)


def program(commands: type[Commands] = Commands) -> typer.Typer:
    """Return the program with these commands."""
    return typer.Typer(
        name="gnc",
        cls=commands,
        callback=_gnc,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=_EPILOG,
    )


def _print_version(context: typer.Context, requested: bool) -> None:
    if requested:
        typer.echo(f"gnc {gnc_cli.__version__}")
        if context.params.get("verbose"):
            for line in _environment():
                typer.echo(line)
        raise typer.Exit


def _environment() -> Iterator[str]:
    """Yield lines with versions, cores, memory, known codes, a certificate, the GPU and libraries.

    The certificate is computed here; the libraries are those of linear algebra. A broken part
    yields a line that says so, and no line names a machine, a user or a folder.
    """
    from importlib.metadata import distributions

    from threadpoolctl import threadpool_info

    from gnc_cli.known_codes.table import our_copy
    from gnc_cli.runtime.memory import free_memory, size, total_memory
    from gnc_cli.runtime.threads import available_cores

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
    """Return the certificate of a code whose distance is known exactly."""
    from gnc_cli.codes.certify import certify_code
    from gnc_cli.constructions.registry import named_construction

    points = named_construction("icosahedron", 3, 12).build().unit(0, 12)
    rho = certify_code(points, tolerance=1e-9).rho_one_vs_rest
    return f"rho in [{rho.lower}, {rho.upper}], exactly 1 - 1/sqrt(5) = {1 - 5**-0.5}"


def _gpu() -> str:
    import torch

    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return f"{', '.join(names) or 'none'}, CUDA of torch: {torch.version.cuda or 'none'}"


def _gnc(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, help="Print the version and exit."),
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("-v", is_eager=True, help="With --version: also what a bug report needs."),
    ] = False,
) -> None:
    """Compute certified spherical codes and Softmax Codes; measure generalized neural collapse."""
    if verbose:
        raise UsageError("-v requires --version, or a command before it")


app = program()


def main() -> None:
    """Run the program; the console script `gnc` and `python -m gnc_cli` end here."""
    try:
        app(prog_name="gnc")
    finally:
        if "joblib" in sys.modules:
            from gnc_cli.runtime.parallel import end_workers

            end_workers()
