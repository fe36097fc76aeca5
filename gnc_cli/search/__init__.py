"""`gnc solve`: finds Softmax Codes, Tammes codes and UFM optima."""

from importlib import import_module

from gnc_cli.records import PLOTS, VIEWS

VIEWS["solve"] = lambda: import_module("gnc_cli.search.view")
PLOTS["solve"] = lambda: import_module("gnc_cli.search.plot").plot_solve
