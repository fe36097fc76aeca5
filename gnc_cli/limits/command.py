"""`gnc bounds`."""

from functools import partial

from gnc_cli.console.expose import expose, progress_and_rows
from gnc_cli.limits import api

_watch = partial(progress_and_rows, first="evaluating bounds")
bounds = expose(api.bounds, view="gnc_cli.limits.view", watch=_watch)
