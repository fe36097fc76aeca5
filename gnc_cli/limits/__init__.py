"""`gnc bounds`: what is possible for (d, K), one theorem per file."""

from importlib import import_module

from gnc_cli.records import PLOTS, VIEWS

VIEWS["bounds"] = lambda: import_module("gnc_cli.limits.view")
PLOTS["bounds"] = lambda: import_module("gnc_cli.limits.plot").plot_bounds
