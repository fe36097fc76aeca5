"""`gnc bounds`: what is possible for (d, K), one theorem per file."""

from gnc_cli.records import VIEWS


def _view() -> object:
    from gnc_cli.limits import view

    return view


VIEWS["bounds"] = _view
