"""Two real processes train one network over gloo; the devices of several are simulated."""

import pytest
import torch

from gnc_cli.errors import UnavailableError, UsageError
from gnc_cli.training import network
from tests.runtime.together import needs_gloo, together

SCRIPT = """
    import torch
    from gnc_cli.training.networks.heads import ClassMeanHead, SphereHead
    from gnc_cli.training.network import start_processes
    from gnc_cli.training.networks.training import NonFiniteLossError, TrainingState
    from gnc_cli.training.settings import Recipe
    from gnc_cli.runtime.distributed import Processes
    from tests.training.networks.fakes import advance, fake_model, fake_training

    alone = Processes()

    def training(processes, head, norm="group", idle=False):
        recipe = Recipe(epochs=3, batch_size=16, lr=0.05, warmup=1)
        model = fake_model(head, norm=norm)
        if idle:
            model.encoder.idle = torch.nn.GroupNorm(2, 8)
        place = torch.device("cpu")
        return fake_training(recipe, model=model, N=71, place=place, processes=processes)

    def close(a, b):
        a, b = a.state()["model"], b.state()["model"]
        return all(torch.allclose(a[name], b[name], rtol=1e-4, atol=1e-5) for name in a)
"""


@needs_gloo
def test_two_processes_train_as_one_does() -> None:
    told = together(
        SCRIPT
        + """
    # Class means speak over the default group, so who is alone comes before there is one.
    one = training(alone, ClassMeanHead(4, 5, tau=0.2, beta=0.5))
    want = [advance(one) for _ in range(3)]
    together, device = start_processes("cpu")
    assert (together.rank, together.size, device.type) == (rank, 2, "cpu")
    shared = training(together, ClassMeanHead(4, 5, tau=0.2, beta=0.5))
    for a, b in zip([advance(shared) for _ in range(3)], want, strict=True):
        assert abs(a.loss - b.loss) <= 1e-5 * b.loss and a.accuracy == b.accuracy, (a, b)
    assert close(shared, one)
    print(shared.model.head.weights.tolist())

    def head():
        return SphereHead(4, 5, tau=0.2)

    # Nobody waits for the gradient of a layer that no image goes through.
    shared, one = (training(each, head(), idle=True) for each in (together, alone))
    for _ in range(2):
        a, b = advance(shared), advance(one)
        assert abs(a.loss - b.loss) <= 1e-5 * b.loss, (a, b)
        assert (a.epoch, a.step, a.accuracy, a.lr) == (b.epoch, b.step, b.accuracy, b.lr)
        assert close(shared, one), (a, b, shared.state()['model'], one.state()['model'])
        print(a.loss)

    # What two have begun, one may go on with.
    assert advance(shared, 2) is None and (shared.epoch, shared.step) == (2, 2)
    one.load_state(TrainingState(**shared.state()))
    a, b = advance(shared), advance(one)
    assert (a.epoch, a.step, a.lr) == (b.epoch, b.step, b.lr) and close(shared, one)
    print(a.loss)

    # A loss that only one sees is lost for both, at the same step.
    broken = training(together, head())
    plain = broken.batches.epoch

    def poisoned(epoch, start=0):
        for step, batch in enumerate(plain(epoch, start)):
            if rank == 1 and step == 2:
                batch.images.fill_(torch.nan)
            yield batch

    broken.batches.epoch = poisoned
    try:
        advance(broken)
    except NonFiniteLossError as error:
        print(error)

    # Batch norms that count apart end with the same averages.
    apart = training(together, head(), norm="batch")
    advance(apart)
    print(apart.state()["model"]["encoder.layers.1.running_var"].tolist())
    """
    )
    assert told[0] == told[1] and len(told[0].splitlines()) == 6
    assert told[0].splitlines()[4].startswith("epoch 1, step 3 of 5: ")


def test_each_process_has_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"WORLD_SIZE": "4", "RANK": "3", "LOCAL_RANK": "3"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(network, "resolve_device", lambda name: torch.device("cuda", 0))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    current: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    processes, device = network.start_processes("cuda")  # a batch system's, no torchrun
    assert processes.size == 1 and [device] == current == [torch.device("cuda", 0)]
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    with pytest.raises(UnavailableError, match="process 3 .*--nproc-per-node 2"):
        network.start_processes("cuda")
    with pytest.raises(UsageError, match="device='cuda:1' names one GPU"):
        network.start_processes("cuda:1")
