"""`gnc measure`."""

from gnc_cli.collapse import api
from gnc_cli.console.expose import expose

measure = expose(api.measure, view="gnc_cli.collapse.view")
