"""From a folder of mixed files to library, report and quiz: the way of the page `keep_your_matches.md`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import output_of, run
from tests.imports.importing import Imports
from tests.matches.kinds.test_match_analysis import MATCH, recipe

gvformat = pytest.importorskip("gvformat", reason="the extra matches is not installed")
FORMATS = Path(__file__).parents[2] / "formats"
AGREEMENT = """
    select analyst, count(*) as n, count(*) filter (where text = best) as same
    from match_analysis join foreign_analysis f using (game, turn)
    where match_analysis.subject = 'play' and f.subject = 'play' and choice = 0
    group by analyst order by analyst"""


@pytest.fixture
def folder(tmp_path: Path, imports: Imports) -> Path:
    """A folder with files of gnubg, eXtreme Gammon, BGBlitz, GammonView and bgdata; one session is in four of them."""
    folder = tmp_path / "mine"
    (folder / "old").mkdir(parents=True)
    for name in ("session.txt", "session_002.txt", "session_004.txt", "session_002.html.gz"):
        (folder / name).write_bytes((FORMATS / "exports" / name).read_bytes())
    for form in ("xg", "bgf", "ogxm"):
        (folder / f"old/club.{form}").write_bytes((FORMATS / f"binary/session.{form}").read_bytes())
    streamed = [
        gvformat.write_gvab(gvformat.convert_mat(FORMATS / f"binary/{name}.mat")) for name in ("session", "short")
    ]
    (folder / "old/two.ogxms").write_bytes(b"".join(streamed))
    imports.build("matches", [imports.file("ours.mat", MATCH)], name="ours")
    written = ("export", "text", "matches/ours", "--format", "mat", "-o", folder / "ours.mat")
    assert run(imports.warehouse.root, *written).exit_code == 0
    return folder


def test_library_report_and_quiz(folder: Path, tmp_path: Path, imports: Imports) -> None:
    """Files of five formats in one folder are imported, listed, analysed, reported on and asked about."""
    root = imports.warehouse.root
    told = run(root, "import", "matches", folder, "--name", "mine")
    assert told.exit_code == 0, told.output
    assert "0 quarantined" in told.stdout
    listed = json.loads(output_of(root, "matches", "--format", "json"))
    assert sorted(row["n_games"] for row in listed) == [1, 1, 2, 3, 3]
    formats = "select format, n_files from imported_matches where variant = 'mine' order by all"
    found = json.loads(output_of(root, "query", formats, "--format", "json"))
    assert {row["format"] for row in found} == {"gnubg html", "gnubg text", "mat", "bgf", "ogxm"}
    assert max(row["n_files"] for row in found) == 4
    imports.warehouse.build("match_analysis", recipe("mine"))
    report = json.loads(output_of(root, "matches", "Fox", "--page", tmp_path / "fox.html", "--format", "json"))
    assert {row["part"] for row in report} >= {"all", "match", "opponent", "theme", "score", "phase", "field"}
    assert "<h1>Decisions of Fox</h1>" in (tmp_path / "fox.html").read_text()
    asked = ("--questions", "3", "--ply", "0", "--xgid", tmp_path / "fox.txt")
    assert run(root, "quiz", "Fox", *asked).exit_code == 0
    assert len((tmp_path / "fox.txt").read_text().splitlines()) == 3
    agreed = json.loads(output_of(root, "query", AGREEMENT, "--format", "json"))
    assert [(row["analyst"], row["n"]) for row in agreed] == [
        ("bgblitz", 55),
        ("bgsage", 55),
        ("gnubg", 18),
        ("xg", 55),
    ]
    assert all(0 < row["same"] < row["n"] for row in agreed)  # by a tiny network
