"""Tests of commands without their extra, which one line names before any work."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bgdata.cli import main
from bgdata.cli.options import OutputFile
from tests.command_line import error_of, every_command, missing_extra, run
from tests.subtests import Subtests

# words of a command, the first missing package, its purpose, and its extra
LACKING = [
    (("serve",), "uvicorn", "for the site", "web"),
    (("serve", "--static", "pages"), "starlette", "for the site", "web"),
    (("train", "plot"), "matplotlib", "to draw pictures", "plots"),
    (("export", "onnx", "-o", "x"), "onnx", "to write an ONNX file", "onnx"),
    (("export", "torch", "-o", "x"), "torch", "to write a program of it", "torch"),
    (("eval", "start", "--network", "empty.onnx"), "onnxruntime", "to run empty.onnx", "onnx"),
    (("selfplay", "--executor", "dask://here:1"), "distributed", "for an executor dask://...", "dask"),
    (("push", "s3://bucket/path"), "fsspec", "for a warehouse at an address", "remote"),
    (("pull", "memory://path"), "fsspec", "for a warehouse at an address", "remote"),
    (("score", "pubeval", "--against", "bgsage", "--games", "4"), "bgsage", "in this environment", "oracles"),
]
HIDDEN = (
    "bgsage",
    "distributed",
    "fsspec",
    "jinja2",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "starlette",
    "torch",
    "uvicorn",
)
PROGRAM = f"""
import json, sys
sys.modules.update(dict.fromkeys({HIDDEN}))
from click.testing import CliRunner
from bgdata.cli import main
for words in json.loads(sys.argv[1]):
    found = CliRunner().invoke(main, words)
    print(json.dumps([found.exit_code, found.stdout, found.stderr]))
"""


def test_missing_extras_are_named(small_root: Path, tmp_path: Path) -> None:
    """Every command that needs an optional package says in one line which extra to install, before it does anything."""
    (tmp_path / "empty.onnx").touch()
    commands = json.dumps([["--warehouse", str(small_root), *words] for words, *_ in LACKING])
    result = subprocess.run([sys.executable, "-c", PROGRAM, commands], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    with Subtests() as subtests:
        for (words, package, purpose, extra), line in zip(LACKING, result.stdout.splitlines(), strict=True):
            with subtests.test(" ".join(words)):
                code = 2 if extra == "oracles" else 1  # as for any missing player
                assert json.loads(line) == [
                    code,
                    "",
                    f"error: expected {package} {purpose}, {missing_extra(extra)}\n",
                ]
    assert [path.name for path in tmp_path.iterdir()] == ["empty.onnx"]


def test_pictures_without_matplotlib_are_refused_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with Subtests() as subtests:
        for words, command in every_command(main):
            for option in command.params:
                if isinstance(option.type, OutputFile) and option.type.endings:
                    with subtests.test(" ".join(words)):
                        result = run(tmp_path, *words, option.opts[-1], tmp_path / "picture.svg")
                        assert error_of(result, 1) == f"expected matplotlib to draw pictures, {missing_extra('plots')}"
    assert len(subtests.names) >= 14
    assert not list(tmp_path.iterdir())
