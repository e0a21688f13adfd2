"""Networks as PyTorch programs."""

import io

import numpy as np
import pytest

from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.networks.player import NetworkPlayer
from tests.evaluation.sample_networks import RECTIFIED, random_networks
from tests.formats.onnx.boards import all_boards


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, RECTIFIED])
def test_torch_program_gives_our_answers(number: int) -> None:
    """A PyTorch program gives the answers of our kernels for different numbers of boards and every input set except
    one."""
    torch = pytest.importorskip("torch", reason="PyTorch is an extra")
    from bgdata.formats.onnx.torch_program import torch_bytes

    boards = all_boards(1500, seed=23)
    networks = random_networks(number)
    files = {"name": ""}
    program = torch.export.load(io.BytesIO(torch_bytes(networks, {"name": "mine"})), extra_files=files).module()
    expected = NetworkPlayer(networks, BearoffEvaluator().arrays).evaluate_many(boards).chances
    for count in (0, 1, 2, len(boards)):
        actual = program(torch.from_numpy(boards[:count])).numpy()
        np.testing.assert_array_equal(actual, expected[:count])
        assert actual.dtype == np.float32
    assert files == {"name": "mine"}
