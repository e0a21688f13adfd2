"""Tests of the user's own warehouse, which is used if the current folder has none."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bgdata.cli import main
from bgdata.cli.defaults import default_folder, own_folder

BEAROFF = "CgAAEAEAAAAAAA"
START = "4HPwATDgc/ABMA"
SMALL = "bearoff_two_sided/6x6, bearoff_one_sided/6x15, bearoff_gammon/6x15"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, and an empty current folder."""
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("BGDATA_WAREHOUSE", raising=False)
    return tmp_path


def run_command(*arguments: str) -> Result:
    """Run a command that must succeed."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    return result


def test_default_folder_is_the_current_or_the_users_own(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_folder() == home / "data/bgdata/warehouse"
    monkeypatch.setenv("HOME", "/home/ann")
    for folder in ("", "not/absolute"):
        monkeypatch.setenv("XDG_DATA_HOME", folder)
        assert own_folder() == Path("/home/ann/.local/share/bgdata/warehouse")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert own_folder() == Path("/data/bgdata/warehouse")
    Path("warehouse").mkdir()
    assert default_folder() == Path("warehouse")


def test_probe_builds_missing_tables_and_reports_the_folder(home: Path) -> None:
    own = home / "data/bgdata/warehouse"
    first = run_command("probe", BEAROFF)
    assert first.stderr.splitlines()[0] == f"building {SMALL}: seconds, once; kept in {own}"
    assert "cubeless equity           +0.342250  (win chance 0.671125)" in first.stdout
    assert "one-sided, bearoff_one_sided/6x15" in first.stdout
    again = run_command("probe", BEAROFF)
    assert (again.stdout, again.stderr) == (first.stdout, "")
    assert "exact, bearoff_two_sided/6x6" in run_command("eval", BEAROFF).stdout
    assert not list(Path().iterdir()), "nothing in the current folder"


@pytest.mark.usefixtures("home")
def test_only_missing_tables_are_built() -> None:
    run_command("build", "bearoff_one_sided", "--points", "6")
    message = run_command("eval", BEAROFF).stderr.splitlines()[0]
    assert message.startswith("building bearoff_two_sided/6x6, bearoff_gammon/6x15: ")
    (version,) = (own_folder() / "bearoff_gammon/6x15").glob("r*")
    run_command("rm", f"bearoff_gammon/6x15/{version.name}")
    assert run_command("eval", BEAROFF).stderr.startswith("building bearoff_gammon/6x15: ")


@pytest.mark.usefixtures("home")
def test_default_match_equity_table_is_built() -> None:
    result = run_command("hint", START, "31", "--away", "3-5", "--plays", "1")
    small, met, *_ = result.stderr.splitlines()
    assert small.startswith(f"building {SMALL}: ")
    assert met.startswith("building match_equity/diverse-19-1ply-25-index-0-8: ")
    assert "8/5 6/5" in result.stdout
    assert "mwc" in result.stdout
    assert run_command("cube", START, "--away", "3-5").stderr == ""


@pytest.mark.parametrize("command", [["eval", START], ["hint", START, "31"], ["probe", BEAROFF]])
@pytest.mark.usefixtures("home")
def test_missing_warehouse_folder_is_not_made(command: list[str]) -> None:
    result = CliRunner().invoke(main, [*command, "--warehouse", "typo"])
    assert result.exit_code == 1
    assert "expected a warehouse in typo, found no such folder" in result.stderr
    assert not Path("typo").exists()
    assert not own_folder().exists()


@pytest.mark.usefixtures("home")
def test_nothing_is_built_in_the_current_folder() -> None:
    Path("warehouse").mkdir()
    assert "network" in run_command("eval", BEAROFF).stdout
    assert not list(Path("warehouse").iterdir())
    assert not own_folder().exists()


def test_unwritable_folder_is_reported(home: Path) -> None:
    (home / "data").write_text("a file")
    result = CliRunner().invoke(main, ["probe", BEAROFF])
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith("error: cannot")
    assert str(home / "data") in result.stderr
