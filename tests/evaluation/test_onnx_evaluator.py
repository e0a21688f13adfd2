"""ONNX files as evaluators: of our networks, of other programs, and invalid ones."""

import pickle
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bgdata.errors import (
    CorruptFileError,
    ExternalProgramError,
    MissingExtraError,
    MissingFileError,
    UnknownInputSetError,
    UnknownPlayerError,
    UsageError,
)
from bgdata.evaluation.bearoff import BearoffEvaluator
from bgdata.evaluation.chances import AnswerSource, Evaluator, ordered_chances
from bgdata.evaluation.lookahead_player import LookaheadPlayer
from bgdata.evaluation.networks.input_sets import InputSet
from bgdata.evaluation.networks.inputs import encode
from bgdata.evaluation.networks.player import NetworkPlayer
from bgdata.evaluation.onnx_evaluator import OnnxEvaluator
from bgdata.evaluation.player import open_named_player
from bgdata.game.board_kernels import game_outcomes
from bgdata.game.codec import Boards
from bgdata.game.position import START
from bgdata.kernel import threads
from tests.evaluation.sample_networks import random_networks
from tests.formats.onnx.boards import all_boards

REASON = "the extra onnx is not installed"
pytestmark = pytest.mark.skipif(not (find_spec("onnx") and find_spec("onnxruntime")), reason=REASON)
FLOAT, INT8 = "FLOAT", "INT8"
Sizes = Sequence[int | str] | None
ONE_BOARD = np.array([START.board], np.int8)
CANNOT_RUN = "expected an ONNX file that onnxruntime can run"


def onnx() -> Any:
    """The package, imported only in tests that need it."""
    return import_module("onnx")


@contextmanager
def raises_short_error(error: type[Exception] | tuple[type[Exception], ...], message: str) -> Iterator[Any]:
    """The block raises this error, with a short one-line message that matches."""
    with pytest.raises(error, match=message) as raised:
        yield raised
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400


@cache
def sample_boards() -> Boards:
    return all_boards(800, seed=5)


def write_model(
    path: Path,
    nodes: Sequence[Any],
    inputs: Mapping[str, tuple[str, Sizes]],
    outputs: Mapping[str, tuple[str, Sizes]],
    constants: Mapping[str, np.ndarray],
    properties: Mapping[str, str],
) -> Path:
    """Write an ONNX file with any graph."""

    def value_infos(described: Mapping[str, tuple[str, Sizes]]) -> list[Any]:
        return [
            onnx().helper.make_tensor_value_info(name, getattr(onnx().TensorProto, kind), sizes)
            for name, (kind, sizes) in described.items()
        ]

    tensors = [onnx().numpy_helper.from_array(values, name) for name, values in constants.items()]
    graph = onnx().helper.make_graph(nodes, "graph", value_infos(inputs), value_infos(outputs), tensors)
    model = onnx().helper.make_model(graph, opset_imports=[onnx().helper.make_opsetid("", 17)], ir_version=8)
    onnx().helper.set_model_props(model, dict(properties))
    path.write_bytes(model.SerializeToString())
    return path


def write_constant(
    path: Path,
    chances: Sequence[float],
    *,
    input_type: tuple[str, Sizes] = (INT8, ("N", 26)),
    output_type: tuple[str, Sizes] = (FLOAT, ("N", 5)),
    more_inputs: Mapping[str, tuple[str, Sizes]] | None = None,
    **properties: str,
) -> Path:
    """Write a file with constant answers, or with a wrong description of itself."""
    node = onnx().helper.make_node
    nodes = [
        node("Cast", ["x"], ["numbers"], to=getattr(onnx().TensorProto, FLOAT)),
        node("ReduceSum", ["numbers", "axis"], ["total"], keepdims=1),
        node("Mul", ["total", "zero"], ["nothing"]),
        node("Add", ["nothing", "chances"], ["y"]),
    ]
    constants = {"axis": np.array([1]), "zero": np.zeros(1, np.float32), "chances": np.array([chances], np.float32)}
    return write_model(path, nodes, {"x": input_type, **(more_inputs or {})}, {"y": output_type}, constants, properties)


@pytest.fixture(scope="module")
def network_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of random networks."""
    from bgdata.formats.onnx.write import onnx_bytes

    path = tmp_path_factory.mktemp("onnx") / "Mine, of 8.onnx"
    path.write_bytes(onnx_bytes(random_networks(1), {}))
    return path


def test_file_of_networks_gives_their_answers(network_file: Path) -> None:
    evaluations = OnnxEvaluator(network_file).evaluate_many(sample_boards())
    expected = NetworkPlayer(random_networks(1), BearoffEvaluator().arrays).evaluate_many(sample_boards())
    np.testing.assert_array_equal(evaluations.chances, expected.chances)
    is_over = game_outcomes(sample_boards()) != 0
    np.testing.assert_array_equal(evaluations.sources, np.where(is_over, AnswerSource.OVER, AnswerSource.PROGRAM))


def test_evaluator_is_named_after_its_file(network_file: Path) -> None:
    evaluator = OnnxEvaluator(network_file)
    assert isinstance(evaluator, Evaluator)
    assert evaluator.version == sha256(network_file.read_bytes()).hexdigest()
    assert evaluator.label == "Mine-of-8"
    assert repr(evaluator) == "OnnxEvaluator(Mine-of-8)"
    assert evaluator.accuracy[AnswerSource.PROGRAM] == f"Mine, of 8.onnx, SHA-256 {evaluator.version[:8]}"


def test_answers_do_not_depend_on_threads_or_pickling(network_file: Path) -> None:
    boards = sample_boards()[::7]
    with threads(1):
        expected = OnnxEvaluator(network_file).evaluate_many(boards).chances
    np.testing.assert_array_equal(OnnxEvaluator(network_file).evaluate_many(boards).chances, expected)
    pickled = pickle.dumps(OnnxEvaluator(network_file))
    assert len(pickled) < 1000
    np.testing.assert_array_equal(pickle.loads(pickled).evaluate_many(boards).chances, expected)


def test_no_positions_give_no_chances(network_file: Path) -> None:
    evaluator = OnnxEvaluator(network_file)
    over = np.zeros((2, 26), np.int8)
    over[:, 1] = -1
    assert evaluator.evaluate_many(sample_boards()[:0]).chances.shape == (0, 5)
    assert evaluator.evaluate_many(over).sources.tolist() == [AnswerSource.OVER] * 2


@pytest.mark.parametrize(("ply", "n_decisions"), [(0, 40), (1, 2)])
def test_file_is_opened_as_a_player_by_its_path(network_file: Path, ply: int, n_decisions: int) -> None:
    player = open_named_player(str(network_file), ply)
    assert isinstance(player, LookaheadPlayer)
    assert player.label == f"Mine-of-8-{ply}ply"
    boards = sample_boards()[game_outcomes(sample_boards()) == 0][:n_decisions]
    rolls = np.tile(np.array([6, 3], np.int8), (n_decisions, 1))
    network = NetworkPlayer(random_networks(1), BearoffEvaluator().arrays).with_all_plays()
    expected = LookaheadPlayer(network, ply).choose_plays(boards, rolls)
    np.testing.assert_array_equal(player.choose_plays(boards, rolls), expected)
    if ply == 0:
        assert player.version == OnnxEvaluator(network_file).version


def test_options_that_a_file_does_not_have_are_refused(network_file: Path) -> None:
    with pytest.raises(UsageError, match="expected a network to play without tables, got "):
        open_named_player(str(network_file), tables=False)
    with pytest.raises(UsageError, match="expected a ply from 0 to 3, got 4"):
        open_named_player(str(network_file), 4)
    with pytest.raises(UnknownPlayerError, match=r"NAME\.ubgi, got mine$"):
        open_named_player("mine")


@pytest.mark.parametrize("input_set", list(InputSet), ids=lambda input_set: input_set.label)
def test_file_may_name_an_input_set(tmp_path: Path, input_set: InputSet) -> None:
    """Instead of boards it takes the inputs of the set. Its chances are put in order."""
    count = encode(input_set, sample_boards()[:1]).shape[1]
    weights = np.random.default_rng(3).normal(0, 0.3, (count, 5)).astype(np.float32)
    node = onnx().helper.make_node
    path = write_model(
        tmp_path / "x.onnx",
        [node("MatMul", ["x", "weights"], ["sums"]), node("Sigmoid", ["sums"], ["y"])],
        {"x": (FLOAT, ("N", count))},
        {"y": (FLOAT, ("N", 5))},
        {"weights": weights},
        {"inputs": input_set.label},
    )
    unfinished = sample_boards()[game_outcomes(sample_boards()) == 0]
    sums = (encode(input_set, unfinished) / 64.0) @ weights.astype(np.float64)
    expected = ordered_chances(1 / (1 + np.exp(-sums)))
    np.testing.assert_allclose(OnnxEvaluator(path).evaluate_many(unfinished).chances, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("chances", "words"),
    [
        ([float("nan"), 0, 0, 0, 0], "expected chances from 0 to 1, none above one that includes it"),
        ([0.5, float("inf"), 0, 0, 0], "got 0.5, inf, 0, 0, 0"),
    ],
)
def test_invalid_chances_are_refused(tmp_path: Path, chances: list[float], words: str) -> None:
    evaluator = OnnxEvaluator(write_constant(tmp_path / "x.onnx", chances))
    with raises_short_error(ExternalProgramError, f"x.onnx for {START.id}, got ") as error:
        evaluator.evaluate_many(ONE_BOARD)
    assert words in str(error.value)


def test_chances_from_an_input_set_are_put_in_order(tmp_path: Path) -> None:
    path, inputs = tmp_path / "x.onnx", (FLOAT, ("N", 196))
    unordered = write_constant(path, [0.5, 0.6, 0, 0, 0], input_type=inputs, inputs="tesauro-196")
    assert OnnxEvaluator(unordered).evaluate_many(ONE_BOARD).chances[0].tolist() == [0.5, 0.5, 0, 0, 0]
    outside = write_constant(path, [1.5, 0, 0, 0, 0], input_type=inputs, inputs="tesauro-196")
    with raises_short_error(ExternalProgramError, r"expected chances from 0 to 1 from .*, got 1\.5, 0"):
        OnnxEvaluator(outside).evaluate_many(ONE_BOARD)


@pytest.mark.parametrize(
    ("types", "signature"),
    [
        ({"input_type": (FLOAT, ("N", 26))}, "float32[N, 26] -> float32[N, 5]"),
        ({"input_type": (FLOAT, ("N", 196))}, "float32[N, 196] -> float32[N, 5]"),
        ({"input_type": (INT8, ("N", 25))}, "int8[N, 25] -> float32[N, 5]"),
        ({"input_type": (INT8, (1, 26))}, "int8[1, 26] -> float32["),
        ({"input_type": (INT8, ("N", 26, 1))}, "int8[N, 26, 1]"),
        ({"more_inputs": {"dice": (INT8, ("N", 2))}}, "int8[N, 26], int8[N, 2] -> float32[N, 5]"),
        ({"inputs": "tesauro-196"}, "int8[N, 26] -> float32[N, 5] with inputs=tesauro-196"),
        ({"input_type": (FLOAT, ("N", 260)), "inputs": "tesauro-196"}, "float32[N, 260]"),
    ],
)
def test_inputs_and_outputs_of_wrong_shapes_or_types_are_refused(
    tmp_path: Path, types: dict[str, Any], signature: str
) -> None:
    path = write_constant(tmp_path / "x.onnx", [0.5, 0, 0, 0, 0], **types)
    with raises_short_error(UsageError, "expected an ONNX file int8.*, got .*" + re.escape(signature)):
        OnnxEvaluator(path)


def test_file_that_describes_its_output_wrongly_is_refused(tmp_path: Path) -> None:
    path = write_constant(tmp_path / "x.onnx", [0.5, 0, 0, 0, 0], output_type=("DOUBLE", ("N", 5)))
    with raises_short_error(CorruptFileError, re.escape(f"{CANNOT_RUN}, got {path}: ")):
        OnnxEvaluator(path)


AS_FLOATS, AS_INTEGERS, ABSOLUTE = ("Cast", "x", "y"), ("Identity", "x", "y"), ("Abs", "y", "z")


@pytest.mark.parametrize(
    ("operations", "outputs", "words"),
    [
        ([AS_FLOATS], {"y": (FLOAT, ("N", 26))}, "-> float32[N, 26]"),
        ([AS_INTEGERS], {"y": (INT8, ("N", 26))}, "-> int8[N, 26]"),
        ([AS_FLOATS, ABSOLUTE], {"y": (FLOAT, ("N", 26)), "z": (FLOAT, ("N", 26))}, "float32[N, 26], float32[N, 26]"),
        ([AS_FLOATS], {"y": (FLOAT, None)}, "expected an ONNX file int8"),
    ],
    ids=["floats", "integers", "two outputs", "no sizes"],
)
def test_models_that_return_no_chances_are_refused(
    tmp_path: Path, operations: list[tuple[str, str, str]], outputs: dict[str, tuple[str, Sizes]], words: str
) -> None:
    """Each returns the board."""
    nodes = []
    for operation, source, target in operations:
        attributes = {"to": getattr(onnx().TensorProto, FLOAT)} if operation == "Cast" else {}
        nodes.append(onnx().helper.make_node(operation, [source], [target], **attributes))
    path = write_model(tmp_path / "x.onnx", nodes, {"x": (INT8, ("N", 26))}, outputs, {}, {})
    with raises_short_error(UsageError, re.escape(words)):
        OnnxEvaluator(path)


def test_model_with_more_answers_than_positions_is_refused(tmp_path: Path) -> None:
    node, path = onnx().helper.make_node, tmp_path / "x.onnx"
    nodes = [
        node("Cast", ["x"], ["numbers"], to=getattr(onnx().TensorProto, FLOAT)),
        node("Gather", ["numbers", "five"], ["found"], axis=1),
        node("Concat", ["found", "found"], ["y"], axis=0),
    ]
    write_model(path, nodes, {"x": (INT8, ("N", 26))}, {"y": (FLOAT, ("M", 5))}, {"five": np.arange(5)}, {})
    with raises_short_error(ExternalProgramError, r"expected chances \[1, 5\] from .*, got \[2, 5\]"):
        OnnxEvaluator(path).evaluate_many(ONE_BOARD)


def test_model_that_fails_at_run_time_is_refused(tmp_path: Path) -> None:
    """It cannot reshape 26 numbers into rows of 5."""
    node, path = onnx().helper.make_node, tmp_path / "x.onnx"
    nodes = [
        node("Cast", ["x"], ["numbers"], to=getattr(onnx().TensorProto, FLOAT)),
        node("Reshape", ["numbers", "shape"], ["y"]),
    ]
    write_model(path, nodes, {"x": (INT8, ("N", 26))}, {"y": (FLOAT, ("M", 5))}, {"shape": np.array([-1, 5])}, {})
    with raises_short_error(ExternalProgramError, f"expected answers of {path}, "):
        OnnxEvaluator(path).evaluate_many(ONE_BOARD)


def test_unknown_input_set_is_refused(tmp_path: Path) -> None:
    path = write_constant(tmp_path / "x.onnx", [0.5, 0, 0, 0, 0], input_type=(FLOAT, ("N", 9)), inputs="mine")
    with raises_short_error(UnknownInputSetError, r"expected inputs among tesauro-196, .*, got mine"):
        OnnxEvaluator(path)


def test_invalid_file_is_refused(tmp_path: Path, network_file: Path) -> None:
    path = tmp_path / "x.onnx"
    with raises_short_error(MissingFileError, f"expected an ONNX file, found nothing at {path}; try: "):
        OnnxEvaluator(path)
    path.mkdir()
    with raises_short_error(UsageError, f"expected an ONNX file, got the folder {path}"):
        OnnxEvaluator(path)
    path.rmdir()
    for content in (b"", b"text\n", bytes(1000), network_file.read_bytes()[:1000]):
        path.write_bytes(content)
        with raises_short_error(CorruptFileError, f"{CANNOT_RUN}, got {path}: "):
            OnnxEvaluator(path)


@pytest.mark.parametrize("field", ["opset", "ir", "domain"])
def test_unsupported_versions_are_refused(tmp_path: Path, field: str, capfd: pytest.CaptureFixture[str]) -> None:
    """onnxruntime prints nothing."""
    path = write_constant(tmp_path / "x.onnx", [0.5, 0, 0, 0, 0])
    model = onnx().load(path)
    if field == "opset":
        model.opset_import[0].version = 9999
    elif field == "ir":
        model.ir_version = 9999
    else:
        model.graph.node[0].domain = "com.nobody"
    path.write_bytes(model.SerializeToString())
    with raises_short_error(CorruptFileError, f"^{CANNOT_RUN}, got {path}: "):
        OnnxEvaluator(path)
    assert capfd.readouterr() == ("", "")


def test_external_data_files_are_not_read(tmp_path: Path) -> None:
    path = write_constant(tmp_path / "x.onnx", [0.5, 0, 0, 0, 0])
    model = onnx().load(path)
    onnx().save_model(model, path, save_as_external_data=True, location="data.bin", size_threshold=0)
    assert (tmp_path / "data.bin").exists()
    with raises_short_error(CorruptFileError, CANNOT_RUN):
        OnnxEvaluator(path)


def test_missing_onnxruntime_is_refused(network_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with raises_short_error(
        MissingExtraError, r'expected onnxruntime to run .*, found none; try: .*bgdata-backgammon\[onnx\]"$'
    ):
        OnnxEvaluator(network_file)
