"""`gnc compare`: codes against the known codes."""

from importlib import import_module

from gnc_cli.records import PLOTS, VIEWS

VIEWS["compare"] = lambda: import_module("gnc_cli.comparison.view")
PLOTS["compare"] = lambda: import_module("gnc_cli.comparison.plot").plot_compare
