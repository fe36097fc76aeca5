"""`gnc measure`."""

from functools import partial

from gnc_cli.collapse import api
from gnc_cli.console.expose import expose, progress_and_rows

_watch = partial(progress_and_rows, first="reading files")
measure = expose(api.measure, view="gnc_cli.collapse.view", watch=_watch)
