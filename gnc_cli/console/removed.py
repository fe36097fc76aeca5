"""Options that went before the first release, and the one line that names what to use instead."""

from collections.abc import Mapping, Sequence

from gnc_cli.errors import UsageError

REMOVED: Mapping[str, str] = {
    "--variants authors": "gnc1_centred and gnc3_centred are always computed",
    "--variants all": "add --variants classic; gnc1_centred and gnc3_centred are always computed",
    "--bootstrap": "resample the samples in Python and call measure() on each draw",
    "--group": "write the rows with --csv and put them together with pandas: groupby().agg()",
    "--normalize require": "the default makes rows unit where a metric needs them",
    "--hunt": "run python -m benchmarks.hunt in the sources",
    "--method paper": "run python -m benchmarks.paper_recipe in the sources",
    "--stem": "the first layers follow from the size of the images: small under 96 pixels",
    "--norm": "built-in networks have batch norms; write --model package.module:factory for others",
    "--gamma": "a step schedule takes a tenth of the rate at each of --milestones",
    "--clip": "a smaller --lr, or warmup in the file of --config, keeps the loss finite",
    "--channels-last": "images are always stored with the channels last",
    "--compile": "a factory of --model package.module:factory may return a compiled network",
}
"""Option, or option and value -> what to do instead. To be emptied when 0.1.0 is out."""


def refuse_removed(words: Sequence[str]) -> None:
    """Refuse a command line that has an option of `REMOVED`.

    Raises:
        UsageError: it has; the message names the replacement.
    """
    line = f" {' '.join(words).replace('=', ' ')} "
    for option, instead in REMOVED.items():
        if f" {option} " in line:
            raise UsageError(f"{option} was removed; {instead}")
