"""`gnc solve`: Softmax Codes, Tammes codes, lines and optima of the UFM."""

from importlib import import_module

from gnc_cli.records import PLOTS, VIEWS

VIEWS["solve"] = lambda: import_module("gnc_cli.search.view")
PLOTS["solve"] = lambda: import_module("gnc_cli.search.plot").plot_solve
