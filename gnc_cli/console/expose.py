"""Typer commands of public functions.

The function's annotated signature (parameters.py) defines the options; those of `OutputOptions` and
`GateOptions` are added. The command passes the texts of the options to the function, which reads
and checks them. The view of the command shows the result.
"""

import contextlib
import inspect
import re
import shlex
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Any, get_args

import typer

from gnc_cli import __version__
from gnc_cli.console.options import GateOptions, OutputOptions, Shape
from gnc_cli.console.process import conversation, interruptible, print_line, progress_on_terminal
from gnc_cli.errors import GncError
from gnc_cli.io.arguments import check_files
from gnc_cli.parameters import Parameter, annotations, declared, in_shell
from gnc_cli.records import VIEWS, Result


@contextlib.contextmanager
def progress_and_rows(output: OutputOptions, name: str, first: str) -> Iterator[dict[str, Any]]:
    """Yield the callbacks of a function: `progress` on a terminal, `on_row` for --jsonl.

    Args:
        output: options of the output.
        name: name of the command.
        first: name of the stage before `progress` is called.
    """
    from gnc_cli.runtime.distributed import is_rank_zero

    head = {"schema": Result.schema, "command": name, "version": __version__}
    with progress_on_terminal(output.quiet, first) as progress:
        # Under torchrun only the first process prints.
        if not is_rank_zero():
            yield {}
        elif output.shape is Shape.JSONL:
            yield {"progress": progress, "on_row": lambda row: print_line(row, head)}
        else:
            yield {"progress": progress}


def expose(
    public: Callable[..., Result], function: Callable[..., Any], first: str
) -> Callable[..., None]:
    """Return the command of a public function.

    Its view (`VIEWS`) has `view(result, verbose)`, which returns the tables. It may have
    `verdicts(result, options)`, the command's own verdicts on a result. The view of a function with
    `on_epoch` has `watch(output, name, first)` in place of `progress_and_rows`.

    Args:
        public: public function, with the name and the description of the command.
        function: runs the command; if its result is a series that is `single`, the only row is
            shown. Parameters without a declaration are not options: `interrupt`, `command_line`
            and the callbacks of `watch` are passed to those of their names.
        first: name of the stage before it reports progress.
    """
    signature = inspect.signature(function)
    declarations = declared(function)
    function_options = {name: p for name, p in declarations.items() if p.in_shell}
    groups = {
        OutputOptions: declared(OutputOptions),
        GateOptions: declared(GateOptions),
    }
    all_options = function_options | groups[OutputOptions] | groups[GateOptions]

    def command(**options: Any) -> None:
        from gnc_cli.console.gates import Gates
        from gnc_cli.console.report import conclude
        from gnc_cli.runtime.distributed import is_rank_zero

        pairs = {name for name, option in all_options.items() if "/" in (option.flag or "")}
        options = {  # a flag that is False was not given, but `--b` of a pair `--a/--b` is a choice
            name: value
            for name, value in options.items()
            if value not in (None, []) and (value is not False or name in pairs)
        }
        output, gate_options = (
            group(**{name: options[name] for name in names if name in options})
            for group, names in groups.items()
        )
        arguments = {name: options[name] for name in function_options if name in options}
        output.check_stdout(arguments.get("out"))
        failure = None
        with in_shell(*(declarations.keys() - function_options.keys())):
            check_files(all_options, options)
            gates = Gates.read(gate_options)
            if gates.gates:
                gates.check(public.__name__, _question(function_options, arguments))
            # Commands without epochs refuse wrong arguments before they load their view and NumPy.
            has_epochs = "on_epoch" in signature.parameters
            watch = VIEWS[public.__name__]().watch if has_epochs else progress_and_rows
            with (
                conversation(output.quiet, output.verbose),
                interruptible(output.quiet) as interrupt,
                watch(output, public.__name__, first) as callbacks,
            ):
                callbacks |= {
                    "interrupt": interrupt,
                    "command_line": _command_line(public.__name__, all_options, options),
                }
                extra = {name: x for name, x in callbacks.items() if name in signature.parameters}
                try:
                    result = function(**arguments, **extra)
                    result = result.rows[0] if getattr(result, "single", False) else result
                except GncError as error:
                    if error.partial is None:
                        raise
                    # The partial result is shown, but neither judged nor written to a report.
                    failure, result, gates = error, error.partial, Gates.read(GateOptions())
                    output = replace(output, report=None)
            if not is_rank_zero():
                raise typer.Exit
            view = VIEWS[public.__name__]()
            code = conclude(
                result,
                lambda verbose: view.view(result, verbose),
                output,
                gates,
                verdicts=view.verdicts(result, options) if hasattr(view, "verdicts") else (),
                streamed=not signature.parameters.keys().isdisjoint({"on_row", "on_epoch"}),
                on_stderr=options.get("out") == "-",
                overwrite=bool(options.get("force") or options.get("resume")),
            )
            raise failure or typer.Exit(code)

    command.__name__ = public.__name__
    command.__doc__ = (inspect.getdoc(public) or "").partition("\n\nArgs:")[0]
    types = annotations(function)
    for group in groups:
        types |= annotations(group)
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_option(name, parameter),
            annotation=_shell_type(types[name], parameter),
        )
        for name, parameter in all_options.items()
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def _question(parameters: dict[str, Parameter], options: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the options that a baseline must share."""
    keys = [key for key in ("problem", "d", "K") if key in options]
    values = {key: parameters[key].read(key, options[key]) for key in keys}
    return {key: value for key, value in values.items() if isinstance(value, (int, str))}


def _option(name: str, parameter: Parameter) -> Any:
    """Return the Typer declaration, without a default, since the function has the defaults."""
    kind = parameter.kind
    metavar = parameter.metavar or (kind.metavar if kind else None) or ""
    if kind and kind.choices:  # in short lines, so that help fits 80 columns
        names = f"<{'| '.join(kind.choices)}>"
        metavar = textwrap.fill(names, 20, break_on_hyphens=False).replace("| ", "|")
    text = re.sub(r"\[(?=[a-z])", r"\\[", parameter.help)  # to rich, [word] is a style
    if parameter.argument:
        return typer.Argument(None, metavar=metavar, help=text, show_default=False)
    flags = [parameter.flag or parameter.option(name), *(parameter.short or "").split()]
    return typer.Option(
        None,
        *flags,
        metavar=metavar,
        help=text,
        show_default=False,
        rich_help_panel=parameter.group,
    )


def _shell_type(annotation: Any, parameter: Parameter) -> Any:
    """Return the type of an option: flag, text or list of texts, or the enum of a choice.

    Shells complete the members of an enum.
    """
    if parameter.repeatable:
        return list[str] | None
    value_type = get_args(annotation)[0]
    if bool in (value_type, *get_args(value_type)):
        return bool | None if "/" in (parameter.flag or "") else bool
    return ((parameter.kind and parameter.kind.choices) or str) | None


def _command_line(name: str, parameters: dict[str, Parameter], options: dict[str, Any]) -> str:
    """Return the command line, which can be run again in the folder of its files."""
    words = ["gnc", name]
    for key, value in options.items():
        parameter = parameters[key]
        is_file = parameter.reads or bool(parameter.writes)
        for item in value if isinstance(value, list) else [value]:
            words += [] if parameter.argument else [parameter.option(key, item)]
            if not isinstance(item, bool):
                text = str(item)
                words.append((PurePath(text).name or text) if is_file else text)
    return shlex.join(words)
