"""Tests of completion in the shell: names of the warehouse, without slow imports and tracebacks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

import bgdata
from bgdata.cli import main
from bgdata.cli.completion import SHELLS, names_to_explain
from tests.command_line import error_of, output_of, run
from tests.subtests import each


def completions(root: Path, *words: str) -> set[str]:
    """The completions of the last word."""
    shell = ShellComplete(main, {}, "bgdata", "_BGDATA_COMPLETE")
    return {item.value for item in shell.get_completions(["--warehouse", str(root), *words[:-1]], words[-1])}


@each(
    ("words", "expected"),
    [
        (("cu",), {"cube", "cube-life"}),
        (("met", "sh"), {"show"}),
        (("cube", "--aw"), {"--away"}),
        (("eval", "--format", ""), {"table", "csv", "json"}),
        (("build", "bearoff_t"), {"bearoff_two_sided"}),
        (("import", "gnubg_"), {"gnubg_benchmark", "gnubg_training"}),
        (("verify", "bearoff_g"), {"bearoff_gammon"}),
        (("push", "s3://x/y", "bearoff_gammon", "bearoff_two_sided/"), {"bearoff_two_sided/3x3"}),
        (("diff", "bearoff_two_sided/"), {"bearoff_two_sided/3x3"}),
        (("diff", "bearoff_gammon/3x15", "bearoff_e"), {"bearoff_error/3x3"}),
        (("eval", "x", "--network", "ti"), {"tiny", "tiny-supervised"}),
        (("benchmark", "network/ti"), {"network/tiny", "network/tiny-supervised"}),
        (("benchmark", "network/contact-3"), {"network/contact-320"}),
        (("play", "--watch", "p"), {"pubeval"}),
        (("met", "show", "publ"), {"published-12"}),
        (("cube", "x", "--met", "publ"), {"published-12"}),
        (("explain", "cube_dec"), {"cube_decisions"}),
        (("explain", "take_p"), {"take_point"}),
        (("completion", "z"), {"zsh"}),
    ],
)
def test_names_are_completed(small_root: Path, words: tuple[str, ...], expected: set[str]) -> None:
    assert completions(small_root, *words) >= expected
    assert all(name.startswith(words[-1]) for name in completions(small_root, *words))


def test_versions_of_a_named_warehouse_are_completed(small_root: Path, tmp_path: Path) -> None:
    """Versions are completed from the warehouse that the option --warehouse names, before or after the command. Folders
    are left to the shell."""
    names = {table.name for table in bgdata.open_warehouse(small_root).versions("bearoff_gammon")}
    assert completions(small_root, "rm", "bearoff_g") == completions(small_root, "use", "bearoff_g") == names
    assert completions(small_root, "diff", "bearoff_gammon/3x15/") == {name for name in names if "/3x15/" in name}
    shell = ShellComplete(main, {}, "bgdata", "_BGDATA_COMPLETE")
    words = ["--warehouse", str(tmp_path)]
    assert not shell.get_completions([*words, "rm"], "")
    assert shell.get_completions(["rm", "--warehouse", str(small_root)], "")
    for words_before in ("rm", "--warehouse"), ("pull",), ("push",):
        assert [item.type for item in shell.get_completions(list(words_before), "")] == ["dir"]


def test_names_of_explain_are_completed(small_root: Path) -> None:
    warehouse = bgdata.open_warehouse(small_root)
    names = names_to_explain(warehouse)
    with warehouse.connect() as connection:
        query = "select view_name from duckdb_views() where not internal"
        views = {name for (name,) in connection.execute(query).fetchall()}
    shapes = {shape.name for kind in warehouse.kinds.values() for shape in kind.tables}
    views_of_variants = {
        name for shape in shapes for name in views if name.startswith(f"{shape}_")
    }  # views of variants
    assert views - views_of_variants <= {*names, "labelled_boards", "benchmark_boards"}


@pytest.mark.parametrize("damage", ["none", "file", "manifest"])
def test_unreadable_warehouse_has_no_completions(tmp_path: Path, damage: str) -> None:
    root = tmp_path / "w"
    if damage == "file":
        root.touch()
    elif damage == "manifest":
        folder = root / "match_equity" / "x" / "r1-00000000"
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text("{")
        (folder.parent / "current").write_bytes(b"\xff\xfe")
    for words in (["met", "show", ""], ["use", ""], ["eval", "x", "--network", "zzz"], ["explain", ""], ["diff", ""]):
        completions(root, *words)
    assert completions(root, "met", "show", "") == set()


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_scripts_are_printed(tmp_path: Path, shell: str) -> None:
    script = output_of(tmp_path, "completion", shell)
    assert f"_BGDATA_COMPLETE={shell}_complete" in script
    environment = {"_BGDATA_COMPLETE": f"{shell}_complete", "COMP_WORDS": "bgdata ver"}
    environment["COMP_CWORD"] = "ver" if shell == "fish" else "1"
    result = CliRunner().invoke(main, [], env=environment, prog_name="bgdata")
    assert "verify" in result.output, result.output
    assert error_of(run(tmp_path, "completion", "cmd.exe"), 2).startswith("invalid value for 'SHELL'")


def test_completion_imports_no_slow_modules() -> None:
    code = (
        "import sys\n"
        "from click.shell_completion import ShellComplete\n"
        "from bgdata.cli import main\n"
        "shell = ShellComplete(main, {}, 'bgdata', '_BGDATA_COMPLETE')\n"
        "for words in (['explain'], ['met', 'show'], ['use'], ['benchmark'], ['build']):\n"
        "    shell.get_completions(words, '')\n"
        "print([name for name in ('duckdb', 'pyarrow', 'numba', 'prefect', 'rich') if name in sys.modules])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_completion_works_in_a_real_process(small_root: Path) -> None:
    environment = {"_BGDATA_COMPLETE": "bash_complete", "COMP_WORDS": "bgdata explain cube_dec", "COMP_CWORD": "2"}
    environment |= os.environ | {"BGDATA_WAREHOUSE": str(small_root)}
    program = Path(sys.executable).with_name("bgdata")
    result = subprocess.run([program], env=environment, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == "plain,cube_decisions\n"
