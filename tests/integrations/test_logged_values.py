"""Values that callbacks log (`integrations/__init__.py`), without the packages of trainers."""

import numpy as np

from gnc_cli import measure
from gnc_cli.integrations import FIGURES, figures


def test_every_metric_with_a_better_direction_is_logged() -> None:
    assert {"gnc1", "gnc1_centred", "gnc2.lower", "gnc3", "accuracy", "nc2_etf_error"} <= {*FIGURES}
    result = measure(features=np.eye(3), labels=np.arange(3), weights=np.eye(3))
    assert figures(result)["gnc/gnc2.lower"] == result.gnc2.lower
