"""`gnc solve`."""

from functools import partial

from gnc_cli.console.expose import expose, progress_and_rows
from gnc_cli.search import api

_watch = partial(progress_and_rows, first="starting")
solve = expose(api.solve, view="gnc_cli.search.view", watch=_watch)
