"""Command lines of the flows, and checks before anything runs."""

import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path

import pytest

import bgdata
from bgdata.equity.steps import MatchEquityPlan
from bgdata.errors import ExternalProgramError, MissingExtraError, MissingFileError, UsageError
from bgdata.selfplay.steps import CorpusPlan
from bgdata.training.steps import TrainingPlan


def test_arguments_of_the_training_flow() -> None:
    from pipelines import train  # imports Prefect

    assert train.parse_arguments(["mine"]) == ("warehouse", TrainingPlan("mine"))
    options = ["--start", "network/a", "--games", "7", "--hidden", "40-20", "--luck-adjusted-games", "0"]
    expected = TrainingPlan("mine", start="network/a", games=7, hidden="40-20", luck_adjusted_games=0)
    assert train.parse_arguments(["mine", "--warehouse", "w", *options]) == ("w", expected)
    assert ["name", *train.MEANINGS] == list(vars(expected))


def test_arguments_of_the_flow_of_corpora() -> None:
    from pipelines import corpora

    assert corpora.parse_arguments([]) == ("warehouse", CorpusPlan(), "local", "")
    options = ["--warehouse", "w", "--executor", "processes:2", "--games", "7", "--cubeful-games", "0", "--most", "3"]
    assert corpora.parse_arguments(options) == ("w", CorpusPlan(games=7, cubeful_games=0, most=3), "processes:2", "")
    _, _, executor, through = corpora.parse_arguments(["--executor", "dask://a:1", "--through", "s3://b/c"])
    assert executor == "dask://a:1"
    assert through == "s3://b/c"
    assert list(corpora.MEANINGS) == list(vars(CorpusPlan()))


def test_arguments_of_the_rebuilding_flow() -> None:
    from pipelines import rebuild

    assert rebuild.parse_arguments([]) == ("again", "from-nothing", [])
    options = ["--warehouse", "w", "--plan", "player-33", "sl", "td"]
    assert rebuild.parse_arguments(options) == ("w", "player-33", ["sl", "td"])


def test_arguments_of_the_match_equity_flow() -> None:
    from pipelines import match_equity

    assert match_equity.parse_arguments([]) == ("warehouse", MatchEquityPlan())
    options = ["--player", "network/a", "--plies", "0", "2", "--length", "9", "--cube-life-index", "0.7"]
    assert match_equity.parse_arguments(options) == ("warehouse", MatchEquityPlan("network/a", (0, 2), 0.7, 9))


@pytest.mark.parametrize("arguments", [["a", "b"], ["a", "--games", "many"], ["--nothing"], ["--plies", "x"]])
@pytest.mark.parametrize("flow", ["pipelines.corpora", "pipelines.match_equity", "pipelines.train"])
def test_invalid_arguments_are_refused(flow: str, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        import_module(flow).parse_arguments(arguments)
    assert raised.value.code == 2
    assert f"python -m {flow}" in capsys.readouterr().err


@pytest.mark.parametrize("flow", ["match_equity.make_mets", "train.train_network"])
def test_missing_matplotlib_is_refused_before_the_work(
    flow: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, name = flow.split(".")
    function = getattr(import_module(f"pipelines.{module}"), name).fn
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"^expected matplotlib to draw pictures, found none; try: "):
        function(str(tmp_path / "warehouse"), None)
    assert not list(tmp_path.iterdir())


def test_sources_name_kinds_and_files(tmp_path: Path) -> None:
    """A source is KIND:FILE or the name of a published file, and anything else is refused."""
    from pipelines import imports

    warehouse = bgdata.open_warehouse(tmp_path / "warehouse")
    path = tmp_path / "a.csv"
    path.touch()
    assert imports.sources(warehouse, [f"positions:{path}", "contact.bm.bz2"]) == [
        ("positions", str(path), False),
        ("gnubg_benchmark", "contact.bm.bz2", True),
    ]
    assert len(imports.sources(warehouse, [])) == 6
    with pytest.raises(MissingFileError, match=r"expected KIND:FILE or one of contact\.bm\.bz2, .*, got 'b.csv'"):
        imports.sources(warehouse, ["b.csv"])
    with pytest.raises(MissingFileError, match="expected a file in"):
        imports.sources(warehouse, ["positions:nowhere"])
    with pytest.raises(UsageError, match="expected a kind that is imported from files"):
        imports.sources(warehouse, [f"network:{path}"])


def test_leakage_report_is_a_markdown_table(small_root: Path) -> None:
    from pipelines import imports

    head, rule, *rows = imports.leakage(bgdata.open_warehouse(small_root)).splitlines()
    assert (head, rule) == ("| labels | rows left out of training | benchmarks |", "| - | -: | - |")
    assert rows


def test_missing_server_gives_a_one_line_error() -> None:
    """If no Prefect server answers at the address, a flow ends with one line before it begins."""
    from pipelines.tasks import check_server

    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    reason = rf"at 'http://127.0.0.1:{port}/api', found none: .*refused.*; try: prefect server"
    with pytest.raises(ExternalProgramError, match=f"^expected a Prefect server {reason}"):
        check_server(f"http://127.0.0.1:{port}/api")
    for wrong in ("nowhere", "http://[", "http://127.0.0.1:99999/api"):
        with pytest.raises(ExternalProgramError, match=r"^expected a Prefect server at "):
            check_server(wrong)
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            check_server(f"http://127.0.0.1:{server.server_port}/api")
        finally:
            server.shutdown()
