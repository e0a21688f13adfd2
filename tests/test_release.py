"""What a release is made of: two builds with the same bytes, metadata, notes, and the files of a public project."""

import json
import re
import subprocess
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
import yaml
from packaging.version import Version

import bgdata
from bgdata.version import DISTRIBUTION, __version__
from docs import release
from docs.release import ReleaseError
from tests.command_line import run

ROOT = Path(__file__).parents[1]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
TOPS = {"bgdata", "docs", "pipelines", "sql", "LICENSE", "README.md", "PKG-INFO", "pyproject.toml", ".gitignore"}
FORMS = [path for path in sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"]


def commit(root: Path) -> None:
    """Commit all files of a folder."""
    author = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
    for words in (("init", "--quiet"), ("add", "--all"), (*author, "commit", "--quiet", "--message", "all")):
        subprocess.run(["git", *words], cwd=root, check=True)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A committed project with the build settings of ours, and few files."""
    root = tmp_path / "project"
    for name in ("bgdata/version.py", "bgdata/__init__.py", "pipelines/__init__.py", "pyproject.toml", "README.md",
                 "LICENSE", "CITATION.cff", "CHANGELOG.md", ".gitignore"):  # fmt: skip
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((ROOT / name).read_bytes())
    for name in ("docs/scripts/train.py", "sql/game/views/classes.sql", "tests/test_nothing.py", "warehouse/README.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("select 1\n")
    commit(root)
    return root


@pytest.fixture
def built(project: Path, tmp_path: Path) -> list[Path]:
    """The distributions of the small project."""
    return release.build_twice(project, tmp_path / "dist")


def test_distributions_contain_only_committed_files(project: Path, built: list[Path]) -> None:
    sdist, wheel = built
    release.check_metadata(sdist, wheel, project)
    release.check_content(wheel, project)
    with tarfile.open(sdist) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
    assert tops == TOPS


def test_files_that_nobody_committed_are_refused(project: Path, built: list[Path]) -> None:
    _, wheel = built
    with ZipFile(wheel, "a", ZIP_DEFLATED) as archive:
        archive.writestr("bgdata/warehouse/catalog.duckdb", b"")
    with pytest.raises(ReleaseError, match=r"bgdata/warehouse/catalog\.duckdb"):
        release.check_content(wheel, project)
    (project / "notes.txt").write_text("mine\n")
    with pytest.raises(ReleaseError, match=r"found 1, such as notes\.txt"):
        release.check_clean(project)


def test_metadata_of_another_version_are_refused(project: Path, built: list[Path]) -> None:
    release.write_version("9.0.0", project)
    with pytest.raises(ReleaseError, match=rf"in the metadata, found {DISTRIBUTION} {__version__}"):
        release.check_metadata(built[0], built[1], project)


def test_builds_with_other_bytes_are_refused(built: list[Path], tmp_path: Path) -> None:
    other = tmp_path / "other" / built[0].name
    other.parent.mkdir()
    other.write_bytes(built[0].read_bytes() + b" ")
    with pytest.raises(ReleaseError, match="found others in"):
        release.check_same([built[0]], [other])
    with pytest.raises(ReleaseError, match="expected the same files twice"):
        release.check_same(built, [other])


@pytest.mark.slow
def test_two_builds_of_the_commit_have_the_same_bytes(tmp_path: Path) -> None:
    """The builds contain the last commit, whatever the working folder contains."""
    sdist, wheel = release.build_twice(ROOT, tmp_path)
    result = subprocess.run(
        ["git", "show", f"HEAD:{release.VERSION_FILE}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert wheel.name.split("-")[1] in result.stdout
    with ZipFile(wheel) as archive, tarfile.open(sdist) as unpacked:
        names = archive.namelist()
        packed = unpacked.getnames()
        assert {entry.date_time for entry in archive.infolist()} == {archive.infolist()[0].date_time}
    for name in (*names, *packed):
        assert not re.search(r"(^|/)(tests|__pycache__|\.venv|\.bgdata)/|\.pyc$|\.duckdb$|warehouse\.lock$", name), name
    assert {name.split("/")[1] for name in packed} == TOPS


def test_version_is_written_into_all_files(project: Path) -> None:
    release.write_version("9.1.0", project, "2031-05-06")
    assert release.release_version(project) == "9.1.0"
    citation = yaml.safe_load((project / release.CITATION).read_text())
    assert (citation["version"], str(citation["date-released"])) == ("9.1.0", "2031-05-06")
    assert "## Unreleased\n\n## 9.1.0 (2031-05-06)\n" in (project / release.CHANGELOG).read_text()
    before = {path: path.read_text() for path in project.rglob("*.*") if path.is_file() and ".git/" not in str(path)}
    release.write_version("9.1.0", project, "2031-05-06")
    assert {path: path.read_text() for path in before} == before


@pytest.mark.parametrize("version", ["0.0.1", "9.1", "9.1.0rc1", "v9.1.0"])
def test_wrong_versions_are_refused(project: Path, version: str) -> None:
    with pytest.raises(ReleaseError, match=re.escape(f"or newer, got {version}")):
        release.write_version(version, project)


def test_notes_are_the_section_of_the_version() -> None:
    changelog = (
        "# Changelog\n\n## Unreleased\n\n* new\n\n## 9.0.0 (2031-05-06)\n\n* old\n\n## 8.0.0 (2030-01-01)\n\n* older\n"
    )
    assert release.release_notes(changelog, "9.0.0") == "# bgdata 9.0.0\n\n* old\n"
    assert release.release_notes(changelog, "9.1.0") == "# bgdata 9.1.0\n\n* new\n"
    with pytest.raises(ReleaseError, match=r"expected a section 9\.1\.0"):
        release.release_notes("# Changelog\n\n## Unreleased\n\n", "9.1.0")


def test_notes_of_this_version_can_be_written() -> None:
    assert "\n* " in release.release_notes((ROOT / release.CHANGELOG).read_text(), __version__)


def test_found_pythons_are_those_of_their_version() -> None:
    for minor, program in release.pythons():
        result = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
        assert result.stdout.startswith(f"Python 3.{minor}.")


def test_commands_of_the_readme_are_found() -> None:
    steps = release.console_steps((ROOT / "README.md").read_text())
    assert {words[0] for words, _ in steps} == {"bgdata"}
    assert {words[1] for words, _ in steps} >= {"probe", "hint", "query", "verify"}


def test_names_and_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION
    assert bgdata.__version__ == __version__ == str(Version(__version__))
    citation = yaml.safe_load((ROOT / release.CITATION).read_text())
    assert citation["version"] == __version__
    assert citation["license"] == project["license"]
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)


def steps_of(workflow: Path) -> Iterator[str]:
    """The commands of a workflow."""
    for job in yaml.safe_load(workflow.read_text())["jobs"].values():
        yield from (step["run"] for step in job["steps"] if "run" in step)


def test_workflow_calls_targets_that_exist() -> None:
    commands = list(steps_of(ROOT / ".github/workflows/ci.yml"))
    called = {word for command in commands for word in re.findall(r"\bmake ([a-z-]+)", command)}
    assert {"check", "test-all", "docs", "release"} <= called <= TARGETS


def test_workflow_runs_every_supported_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    supported = [name.rpartition(" ")[2] for name in project["classifiers"] if re.search(r":: 3\.\d", name)]
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    matrix = workflow["jobs"]["checks"]["strategy"]["matrix"]
    assert matrix["python"] == supported == [f"3.{minor}" for minor in release.MINORS]
    assert {name.partition("-")[0] for name in matrix["system"]} == {"ubuntu", "macos"}
    assert workflow["permissions"] == {"contents": "read"}


def test_forms_ask_for_the_diagnosis() -> None:
    assert len(FORMS) == 3
    for path in FORMS:
        form = yaml.safe_load(path.read_text())
        assert {"name", "description", "body"} <= set(form)
        fields = [field for field in form["body"] if field["type"] != "markdown"]
        assert len({field["id"] for field in fields}) == len(fields)
        assert any("bgdata diagnose" in field["attributes"]["label"] for field in fields), path.name


def test_hooks_run_programs_of_the_environment() -> None:
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"
    programs = {hook["entry"].split()[0] for hook in local["hooks"]}
    assert programs == {".venv/bin/ruff", ".venv/bin/mypy"}
    lock = (ROOT / "requirements-dev.lock").read_text()
    assert all(f"\n{Path(program).name}==" in lock for program in programs)


def test_diagnosis_names_no_personal_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "people" / "ann"
    root = home / "secret plans" / "tables"
    root.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for cache, expected in ((None, "~/.cache/bgdata/kernels"), (tmp_path / "elsewhere", "kernels")):
        if cache is None:
            monkeypatch.delenv("BGDATA_CACHE", raising=False)
        else:
            monkeypatch.setenv("BGDATA_CACHE", str(cache))
        result = run(root, "diagnose", "--format", "json")
        assert result.exit_code == 0, result.output
        for word in (str(tmp_path), "people", "ann/", "secret plans", "elsewhere"):
            assert word not in result.output
        values = {(row["about"], row["name"]): row["value"] for row in json.loads(result.stdout)}
        assert values["kernels", "folder"] == expected
        assert values["warehouse", "name"] == "tables"
        assert values["bgdata", "version"] == __version__
        assert not any(name == "error" for _, name in values)
    assert values["setting", "BGDATA_CACHE"] == "set"


def test_diagnosis_counts_versions(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    values = {
        (row["about"], row["name"]): row["value"]
        for row in json.loads(run(small_root, "diagnose", "--format", "json").stdout)
    }
    assert values["warehouse", "versions"] == len(list(warehouse.versions())) > 0


def test_diagnosis_goes_on_where_a_part_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> int:
        raise OSError(f"no memory in {tmp_path}")

    monkeypatch.setattr("bgdata.warehouse.commands.diagnose.total_memory", fail)
    result = run(tmp_path / "missing", "diagnose", "--format", "json")
    rows = [(row["about"], row["name"], row["value"]) for row in json.loads(result.stdout)]
    assert ("machine", "error", "OSError") in rows
    assert ("warehouse", "state", "missing") in rows
    assert str(tmp_path) not in result.output
