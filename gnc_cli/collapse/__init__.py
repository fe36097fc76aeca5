"""`gnc measure`: collapse metrics of features and weights."""

from importlib import import_module

from gnc_cli.records import PLOTS, VIEWS

VIEWS["measure"] = lambda: import_module("gnc_cli.collapse.view")
PLOTS["measure"] = lambda: import_module("gnc_cli.collapse.plot").plot_measure
