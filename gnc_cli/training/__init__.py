"""`gnc train`: networks on the sphere or with weight decay."""

from importlib import import_module

from gnc_cli.records import PLOTS, VIEWS

VIEWS["train"] = lambda: import_module("gnc_cli.training.view")
PLOTS["train"] = lambda: import_module("gnc_cli.training.plot").plot_train
