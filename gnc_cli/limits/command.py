"""`gnc bounds`."""

from gnc_cli.console.expose import expose
from gnc_cli.limits import api

bounds = expose(api.bounds, view="gnc_cli.limits.view")
