"""`gnc compare`: codes against the known codes."""

from gnc_cli.records import VIEWS


def _view() -> object:
    from gnc_cli.comparison import view

    return view


VIEWS["compare"] = _view
