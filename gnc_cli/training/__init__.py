"""`gnc train`: networks on the sphere or with weight decay."""

from gnc_cli.records import VIEWS


def _view() -> object:
    from gnc_cli.training import view

    return view


VIEWS["train"] = _view
