import pytest
from torch import nn

from gnc_cli.networks.modes import in_eval_mode


def test_every_module_is_as_it_was_after_an_error_too() -> None:
    network = nn.Sequential(nn.BatchNorm1d(2).eval(), nn.Sequential(nn.Dropout()))
    before = [module.training for module in network.modules()]
    with pytest.raises(RuntimeError, match="inside"), in_eval_mode(network):
        assert not any(module.training for module in network.modules())
        raise RuntimeError("inside")
    assert [module.training for module in network.modules()] == before
    assert before == [True, False, True, True]
