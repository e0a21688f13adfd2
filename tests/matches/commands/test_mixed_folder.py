"""A folder of mixed files becomes a library with a report, a quiz and the analyses of other programs, as the page
`keep_your_matches.md` shows it for two files."""

import json
from pathlib import Path

import pytest

from tests.command_line import output_of
from tests.imports.importing import Imports
from tests.matches.kinds.test_match_analysis import MATCH, recipe

gvformat = pytest.importorskip("gvformat", reason="the extra matches is not installed")
FORMATS = Path(__file__).parents[2] / "formats"
AGREEMENT = """
    select analyst, count(*) as plays, count(*) filter (where text = best) as same
    from match_analysis join foreign_analysis f using (game, turn)
    where match_analysis.subject = 'play' and f.subject = 'play' and choice = 0
    group by analyst order by analyst"""


@pytest.fixture
def root(tmp_path: Path, imports: Imports) -> Path:
    """A warehouse with the import `mine` of files of gnubg, eXtreme Gammon, BGBlitz, OpenGammon, GammonView and bgdata.
    One session is in four of them."""
    folder = tmp_path / "mine"
    (folder / "old").mkdir(parents=True)
    for name in ("session.txt", "session_002.txt", "session_004.txt", "session_002.html.gz"):
        (folder / name).write_bytes((FORMATS / "exports" / name).read_bytes())
    for form in ("xg", "bgf", "ogxm"):
        (folder / f"old/club.{form}").write_bytes((FORMATS / f"binary/session.{form}").read_bytes())
    stream = [
        gvformat.write_gvab(gvformat.convert_mat(FORMATS / f"binary/{name}.mat")) for name in ("session", "short")
    ]
    (folder / "old/two.ogxms").write_bytes(b"".join(stream))
    imports.build("matches", [imports.file("ours.mat", MATCH)], name="ours")
    output_of(imports.warehouse.root, "export", "text", "matches/ours", "--format", "mat", "-o", folder / "ours.mat")
    output = output_of(imports.warehouse.root, "import", "matches", folder, "--name", "mine")
    assert "0 quarantined" in output
    return imports.warehouse.root


def test_files_of_five_formats_are_listed_once(root: Path) -> None:
    matches = json.loads(output_of(root, "matches", "--format", "json"))
    assert sorted(row["n_games"] for row in matches) == [1, 1, 2, 3, 3]
    query = "select format, n_files from imported_matches where variant = 'mine'"
    files = json.loads(output_of(root, "query", query, "--format", "json"))
    assert {row["format"] for row in files} == {"gnubg html", "gnubg text", "mat", "bgf", "ogxm"}
    assert max(row["n_files"] for row in files) == 4


def test_library_has_a_report_a_quiz_and_other_analyses(root: Path, imports: Imports, tmp_path: Path) -> None:
    imports.warehouse.build("match_analysis", recipe("mine"))
    page, questions = tmp_path / "fox.html", tmp_path / "fox.txt"
    report = json.loads(output_of(root, "matches", "Fox", "--page", page, "--format", "json"))
    assert {"all", "match", "opponent", "theme", "score", "phase", "field"} <= {row["part"] for row in report}
    assert "<h1>Decisions of Fox</h1>" in page.read_text()
    output_of(root, "quiz", "Fox", "--questions", "3", "--ply", "0", "--xgid", questions)
    assert len(questions.read_text().splitlines()) == 3
    rows = json.loads(output_of(root, "query", AGREEMENT, "--format", "json"))
    assert {row["analyst"]: row["plays"] for row in rows} == {"bgblitz": 55, "bgsage": 55, "gnubg": 18, "xg": 55}
    for row in rows:  # a tiny network chooses some of their best plays
        assert 0 < row["same"] < row["plays"]
