"""`gnc measure`: collapse metrics of features and weights."""

from gnc_cli.records import VIEWS


def _view() -> object:
    from gnc_cli.collapse import view

    return view


VIEWS["measure"] = _view
