"""`gnc solve`: finds Softmax Codes, Tammes codes and UFM optima."""

from gnc_cli.records import VIEWS


def _view() -> object:
    from gnc_cli.search import view

    return view


VIEWS["solve"] = _view
