"""The Prefect flow builds what the library builds, quietly and offline, and reports an error in one line."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import bgdata
from bgdata.cli import main
from bgdata.store.catalog import check_catalog
from bgdata.store.table import Table
from tests.pipelines.conftest import Run

OUR_NOTES = (
    r"error: cannot |[a-z_]+/[\w-]+: (built|already built|comes with the package|another process is building it)|"
    r"[24]00 games: .* against PubEval; |epoch \d, |kept epochs: |compiling kernels"
)


def digests(root: Path) -> dict[str, str]:
    """Digest of every version by name."""
    return {table.name: table.manifest.digest for table in default_tables(root)}


def default_tables(root: Path) -> list[Table]:
    """The tables of a small default build; the small warehouse also has imports, and inputs of networks."""
    warehouse = bgdata.open_warehouse(root)
    small = {f"{name}/{kind.slug(kind.smallest)}" for name, kind in warehouse.kinds.items() if kind.defaults}
    return [table for table in warehouse.current() if table.name.rpartition("/")[0] in small]


def all_tables(flows: Run) -> list[Table]:
    """All tables of the flow: the default tables, and the inputs of networks."""
    return list(bgdata.open_warehouse(flows.folder / "warehouse").current())


@pytest.mark.prefect
def test_flow_builds_the_tables_of_the_library(flows: Run, small_root: Path) -> None:
    """The flow builds the same digests as the library, of all kinds or of one, and leaves an up-to-date catalog."""
    fresh = flows.cases["fresh"]
    assert fresh.result == 0
    assert fresh.output.splitlines()[-1] == f"{flows.folder / 'warehouse'}: built"
    assert digests(flows.folder / "warehouse") == digests(small_root)
    for name in digests(small_root):
        kind, variant, version = name.split("/")
        assert re.search(rf"{kind}/{variant}: built {version}, [\d,]+ rows", fresh.errors)
    check_catalog(bgdata.open_warehouse(flows.folder / "warehouse"))
    expected = {name: digest for name, digest in digests(small_root).items() if name.startswith("bearoff_gammon/")}
    assert flows.cases["one kind"].result == list(expected)
    assert digests(flows.folder / "one") == expected


@pytest.mark.prefect
def test_summary_fits_a_screen(flows: Run) -> None:
    """The summary has a line for each kind with the right numbers of tables and rows, and six commands that exist, in
    at most 40 lines."""
    lines = flows.cases["fresh"].output.splitlines()
    assert len(lines) <= 40
    sizes: dict[str, tuple[int, int]] = {}
    for manifest in (table.manifest for table in all_tables(flows)):
        tables, rows = sizes.get(manifest.dataset, (0, 0))
        sizes[manifest.dataset] = tables + 1, rows + manifest.rows
    for kind, (tables, rows) in sizes.items():
        assert [line.split()[1:3] for line in lines if line.split()[:1] == [kind]] == [[str(tables), f"{rows:,}"]]
    commands = [line.partition("bgdata ")[2].partition("   ")[0] for line in lines if "bgdata " in line]
    assert len(commands) == 6
    for command in commands:
        assert main([*shlex.split(command), "--help"], standalone_mode=False) == 0


@pytest.mark.prefect
def test_report_names_every_version(flows: Run, small_root: Path) -> None:
    lines = flows.cases["report"].result.splitlines()[2:]
    tables = all_tables(flows)
    assert {table.name for table in tables} > {table.name for table in default_tables(small_root)}
    assert lines == [f"| {t.name} | {t.manifest.rows:,} | {t.manifest.digest[:16]} |" for t in tables]


@pytest.mark.prefect
def test_built_tables_are_compared_with_the_lock(flows: Run) -> None:
    """The build pipeline compares each table with the lock, and returns 1 where the digest of one differs."""
    locked = flows.cases["locked"]
    assert locked.result == 0
    verdicts = [line for line in locked.output.splitlines() if ": locked " in line]
    last = locked.output.splitlines()[-1]
    built = [table.name.rpartition("/")[0] for table in all_tables(flows)]
    assert [verdict.partition(":")[0] for verdict in verdicts] == built
    assert all(verdict.endswith(", same") for verdict in verdicts)
    assert last == f"{flows.folder / 'warehouse'}: built and equal to its lock"
    assert locked.errors.count("already built") == locked.errors.count("\n")
    other = flows.cases["all"]
    assert other.result == 1
    differing = "^bearoff_.*: locked 0{16}, DIFFERS: current is [0-9a-f]{16}$"
    assert len(re.findall(differing, other.output, re.MULTILINE)) == 1
    assert "equal to its lock" not in other.output


@pytest.mark.prefect
def test_all_builds_slow_variants(flows: Run) -> None:
    line = "not built: bearoff_gammon/2x15; try: bgdata build --all"
    assert line in flows.cases["fresh"].output.splitlines()
    assert "bearoff_gammon/2x15" not in flows.cases["fresh"].errors
    assert line not in flows.cases["all"].output
    assert re.search(r"^bearoff_gammon/2x15: built r\d+-\w{8}, 16 rows", flows.cases["all"].errors, re.MULTILINE)


@pytest.mark.prefect
def test_flows_print_notes_and_one_line_for_an_error(flows: Run) -> None:
    failed = flows.cases["file in its place"]
    assert failed.result == 1
    assert failed.output == ""
    assert re.fullmatch(r"error: cannot .*/file/.*: part of the path is a file\n", failed.errors)
    assert (flows.folder / "file").read_text() == "not a folder"
    for name, case in flows.cases.items():
        if name.startswith("train"):  # see `test_train`
            continue
        for line in case.errors.splitlines():
            assert re.match(OUR_NOTES, line), (name, line)


@pytest.mark.prefect
def test_flows_leave_no_process_and_connect_to_no_machine(flows: Run) -> None:
    commands = [path.read_text() for path in (flows.folder / "offline").glob("offline-*")]
    assert len(commands) == len(flows.started) > 2
    servers = sum("uvicorn" in command for command in commands)
    assert servers == 1, "expected one server of Prefect for all, a process of its own"
    assert flows.cases["children"].result
    left = [psutil.Process(pid) for pid in flows.started if psutil.pid_exists(pid)]
    _, alive = psutil.wait_procs(left, timeout=10)
    assert alive == []
    assert flows.cases["refused"].result == "example.invalid is elsewhere"
    assert (flows.folder / "offline" / "refused").read_text() == "example.invalid\n"


@pytest.mark.prefect
def test_settings_are_valid_and_used_by_prefect(flows: Run) -> None:
    """Prefect knows and uses every setting that the flows make, and writes files nowhere but in its home."""
    settings = flows.cases["settings"].result
    expected = flows.cases["environment"].result
    assert expected.pop("DO_NOT_TRACK") == "1"
    assert expected.pop("PREFECT_LOGGING_ROOT_LEVEL") == "CRITICAL"  # not a setting, but a line of its logging.yml
    assert settings.pop("PREFECT_HOME") == str(flows.folder / "home" / "prefect")
    assert expected
    for name, value in expected.items():
        assert settings[name].lower() == value.lower(), name
    assert {path.name for path in flows.folder.iterdir()} == {
        *("file", "home", "offline", "one", "other", "page", "trained", "warehouse")
    }
    assert (flows.folder / "home" / "prefect" / "prefect.db").is_file()


@pytest.mark.prefect
def test_page_shows_the_output_of_a_flow(flows: Run) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how_to" / "run_flows.md").read_text()
    case = flows.cases["page"]
    assert case.result == 0, case.errors
    (text,) = re.findall(r"^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    *notes, head, rule, row = text.splitlines()
    assert [head, rule, row] == case.output.splitlines()
    built = {line.partition(" in ")[0] for line in case.errors.splitlines()}
    assert {line.partition(" in ")[0] for line in notes} == built


def run_python(folder: Path, program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a new process, with only these settings of Prefect."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    environment.pop("DO_NOT_TRACK", None)
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, timeout=600, cwd=folder, env=environment | variables, check=True,
    )  # fmt: skip


IMPORT = "import pipelines, os, json, sys; assert 'prefect' not in sys.modules; print(json.dumps(dict(os.environ)))"


def test_importing_pipelines_sets_prefect_quiet_local_and_offline(tmp_path: Path) -> None:
    """Importing `pipelines` makes Prefect quiet, local and offline without importing it, keeps settings of the user,
    and replaces a home that cannot be written."""
    settings = {"PREFECT_HOME": str(tmp_path / "mine" / "home"), "PREFECT_LOGGING_LEVEL": "DEBUG"}
    environment = json.loads(run_python(tmp_path, IMPORT, **settings).stdout)
    assert {name: environment[name] for name in settings} == settings
    assert (tmp_path / "mine" / "home").is_dir()
    assert not (tmp_path / ".bgdata").exists()
    environment = json.loads(run_python(tmp_path, IMPORT).stdout)
    assert environment["PREFECT_HOME"] == str(tmp_path / ".bgdata" / "prefect")
    assert (tmp_path / ".bgdata" / "prefect").is_dir()
    assert environment["DO_NOT_TRACK"] == "1"
    assert environment["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
    assert environment["PREFECT_LOGGING_LEVEL"] == "CRITICAL"
    assert "PREFECT_API_URL" not in environment
    (tmp_path / "file").touch()
    for unwritable in (tmp_path / "file", tmp_path / "file" / "below"):
        done = run_python(tmp_path, IMPORT, PREFECT_HOME=str(unwritable), TMPDIR=str(tmp_path))
        home = Path(json.loads(done.stdout)["PREFECT_HOME"])
        assert home.parent == tmp_path
        assert not home.exists()  # it goes with the process
        assert re.fullmatch(rf"cannot write {unwritable}: .*; this run is not recorded\n", done.stderr)


@pytest.mark.prefect
def test_libraries_of_prefect_print_nothing(tmp_path: Path) -> None:
    """Errors that the libraries of Prefect log, such as those of SQLAlchemy when a server ends, are not printed."""
    program = """
import logging, pipelines
from prefect.logging.configuration import setup_logging  # as at the beginning of a flow, and of its server
setup_logging()
logging.getLogger("sqlalchemy.pool").error("while resetting")
"""
    done = run_python(tmp_path, program)
    assert (done.stdout, done.stderr) == ("", "")
