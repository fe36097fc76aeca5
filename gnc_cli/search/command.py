"""`gnc solve`."""

from gnc_cli.console.expose import expose
from gnc_cli.search import api

solve = expose(api.solve, view="gnc_cli.search.view")
