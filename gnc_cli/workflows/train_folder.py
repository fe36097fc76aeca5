"""What a run's config.json holds, and the way back from it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnc_cli import __version__
from gnc_cli.errors import DataError
from gnc_cli.io.run_checkpoints import read_checkpoint
from gnc_cli.io.run_places import portable
from gnc_cli.io.runs import RunFolder, read_config
from gnc_cli.workflows.train_head import HeadPlan
from gnc_cli.workflows.train_settings import Settings
from gnc_cli.workflows.train_together import of_first

if TYPE_CHECKING:
    from gnc_cli.io.images.image_set import ImageData
    from gnc_cli.numerics.distributed import Processes

__all__ = [
    "Stored", "claim_folder", "lacking_data", "plan_facts", "stored_run", "write_config",
]  # fmt: skip


class Stored:
    """A run to go on with.

    Args:
        path: its folder.

    Raises:
        DataError: no run, or one of another version.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        config = read_config(path)
        try:
            self.settings = Settings.from_json(config["settings"])
            self._plan: dict[str, Any] = config.get("plan", {})
            self._names: list[str] = config.get("class_names", [])
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{path!r} has a config.json that is not of gnc train ({error!r}); start anew"
            ) from error

    def plan(self, data: "ImageData") -> HeadPlan:
        """The head's plan, the code from the checkpoint.

        Raises:
            DataError: the data has other classes now, or the checkpoint is damaged.
        """
        if portable(data.class_names) != self._names:  # of which one may be a slash
            raise DataError(
                f"{self.path!r} was trained on {len(self._names)} classes, and {data.name} has "
                f"{len(data.class_names)} others now; name the same data"
            )
        plan, code = self._plan, None
        try:
            placed = plan["permutation"]
            if placed is not None:
                state = read_checkpoint(os.path.join(self.path, "last.pt"))
                code = state["training"]["model"]["head.weight"].double().numpy()
                placed = tuple(placed)
            return HeadPlan(
                plan["d"], plan["K"], code, plan["code_name"], placed, plan["margin"],
                plan["margin_source"],
            )  # fmt: skip
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{self.path!r} does not say what its classifier was ({error!r}); start anew"
            ) from error


def stored_run(path: str) -> Stored | None:
    """The run in a folder, if one has come to its first checkpoint there."""
    return Stored(path) if os.path.exists(os.path.join(path, "last.pt")) else None


def claim_folder(
    path: str | None, settings: Settings, processes: "Processes", *, force: bool, goes_on: bool,
    runs: bool = False,
) -> tuple[RunFolder | None, str]:
    """The run folder, held by the first process; its path in all of them.

    Args:
        path: as the user named it; None for a dated one.
        settings: of the run.
        processes: they all call this.
        force: replace a run that is there.
        goes_on: it is there, and shall go on.
        runs: it is of a series, which has no checkpoint of its own.

    Raises:
        DataError, OutputError: as `RunFolder.create` and `RunFolder.open`.
    """
    found: list[RunFolder] = []
    label = f"{settings.data.partition(':')[0]}-{settings.model.rpartition(':')[2]}"

    def claim() -> str:
        if not goes_on:
            found.append(RunFolder.create(path, label=label, force=force))
        else:
            assert path is not None
            found.append(RunFolder(Path(path)) if runs else RunFolder.open(path))
        return str(found[0].path)

    where = of_first(processes, claim)
    return (found[0] if found else None), where


def write_config(
    folder: RunFolder | None, settings: Settings, processes: "Processes", **more: Any
) -> None:
    """config.json of the run, with `more` beside version and settings; all processes call it.

    Raises:
        OutputError: it cannot be written.
    """
    config = {"gnc_version": __version__, "settings": settings.to_json(), **more}

    def write() -> None:
        assert folder is not None, "the first process holds it"
        folder.write_config(config)

    of_first(processes, write)


def lacking_data(error: DataError) -> DataError:
    """The same of a run to go on with, whose data were not named again."""
    return DataError(
        f"{error}; a run keeps no folders, so give --data, and --ood and --fonts if it has them, "
        "as when it began"
    )


def plan_facts(plan: HeadPlan) -> dict[str, Any]:
    """A head's plan for config.json; its code is in the checkpoints."""
    return {
        "d": plan.d, "K": plan.K, "code_name": plan.code_name, "permutation": plan.permutation,
        "margin": plan.margin, "margin_source": plan.margin_source,
    }  # fmt: skip
