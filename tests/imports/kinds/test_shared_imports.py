"""Imports of other people's files: their rows, sources, names and versions, and the command."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from bgdata.errors import InvalidParameterError, UsageError
from bgdata.game.position import START, Position, parse_key20
from bgdata.imports.kinds import gnubg_benchmark, gnubg_benchmark_compute, gnubg_training
from bgdata.store.manifest import RawFile
from tests.command_line import error_of, output_of, run
from tests.formats import samples
from tests.imports.importing import IMPORTED, Imports, counts, rows
from tests.store.toy import Notes, whole_versions
from tests.subtests import Subtests, each

each_kind = each("kind", list(IMPORTED))
START_ID = START.id
START_BOARD = list(START.board)
CHANCES = ("win", "win_gammon", "win_backgammon", "lose_gammon", "lose_backgammon")


def position(board: Position, class_: str = "contact") -> dict[str, Any]:
    return {"position_id": board.id, "board": list(board.board), "class": class_}


def chances(*values: float) -> dict[str, Any]:
    return dict(zip(CHANCES, (pytest.approx(value, abs=1e-7) for value in values), strict=True))


def test_gnubg_training_is_imported(imports: Imports) -> None:
    text = "NIKOIJADCANIGOAHADBA 0.5 0 0 0 0\n#a\n# cycle 3\n" + samples.TRAINING_ROW.decode()
    first, second = rows(imports.text("gnubg_training", text, "contact-train-data"))
    board = [0, -1, 0, 0, 2, 2, 3, 2, 3, 0, 0, 0, -3, 2, 0, -1, 0, -2, -1, -3, -2, -2, 0, 1, 0, 0]
    known = {"source": "contact-train-data", "position_id": "2K6JAyDYbgcDEA", "board": board, "class": "contact"}
    assert first == {"line": 1, **known, **chances(0.5, 0, 0, 0, 0), "comment": None}
    expected = chances(0.61959, 0.24388, 0.00981, 0.08774, 0.00183)
    assert second == {"line": 4, **known, **expected, "comment": "# cycle 3"}


def test_wildbg_training_is_imported(imports: Imports) -> None:
    (row,) = rows(imports.sample("wildbg_training"))
    expected = chances(0.525, 0.154, 0.007, 0.125, 0.005)
    assert row == {"source": "sample.csv", "line": 2, **position(START), **expected}


def test_bgsage_rollouts_are_imported(imports: Imports) -> None:
    """Chances are clipped and flipped to the player on roll; the values of the file are kept too."""
    (row,) = rows(imports.sample("bgsage_rollouts"))
    written = [int(field) for field in samples.BGSAGE_ROW.split()[:26]]
    flipped = Position([written[25], *(-written[25 - point] for point in range(1, 25)), written[0]])
    assert row == {
        "source": "sample-rollout",
        "line": 1,
        **position(flipped),
        **chances(1 - 0.7823, 0.0025, 0, 0.4430, 0.0480),
        "chances_after_play": [0.7823, 0.4430, 0.0480, 0.0025, -0.0002],
        "equity_after_play": None,
        "standard_error": None,
    }


def test_bgsage_json_is_imported(imports: Imports) -> None:
    """JSON lines and rollout files share a table."""
    entry = f'{{"board": {START_BOARD}, "equity": 0.07, "se": 0.001, "probs": [0.53, 0.15, 0.01, 0.12, 0]}}\n'
    files = [imports.file("b.JSONL", entry), imports.file("a-rollout", samples.BGSAGE_ROW)]
    table = imports.build("bgsage_rollouts", files)
    assert table.manifest.variant == "a-rollout-and-b"
    assert [row["source"] for row in rows(table)] == ["a-rollout", "b.JSONL"]
    row = rows(table)[1]
    assert row | chances(0.47, 0.12, 0, 0.15, 0.01) | position(START) == row
    assert (row["equity_after_play"], row["standard_error"]) == (0.07, 0.001)


def test_positions_are_imported(imports: Imports) -> None:
    first, second = rows(imports.sample("positions"))
    assert first == {"source": "sample.csv", "line": 2, **position(START)}
    assert second == {"source": "sample.csv", "line": 3, **position(Position("v3sAAAhmdzMAAQ"), "crashed")}
    table = imports.text("positions", "v90EAIC3BgAAAA, a race\nAAAAAAAAAAAAAA\n")
    assert [row["class"] for row in rows(table)] == ["race", "over"]


BENCHMARK = """\
s version 1.93 weights 1.00
# comment
r 17
#R JIGHPAABDAOAHDPAABDA 0.47 0.12 0.005 0.14 0.006
#R OAHDOEABCBOAHDPAABDA 0.49 0.13 0.005 0.13 0.006
m OAHDPAABDAOAHDPAABDA 2 4 JIGHPAABDAOAHDPAABDA 0.114795 OAHDOEABCBOAHDPAABDA 0.0421133
r -3
o JIGHPAABDAOAHDPAABDA 0.47 0.12 0.005 0.14 0.006
e JIGHPAABDAOAHDPAABDA 0.47 0.12 0.005 0.14 0.006
c OAHDPAABDAOAHDPAABDA 51.25 49.875 ND
b OAHDPAABDAOAHDPAABDA 3 1 JIGHPAABDAOAHDPAABDA 0.5 0.125 0 0.1 0
m OGMMGAAAEHJLONFCABAA 5 1 JLNLEDABAAOGMMGAAAEH 1.43587
#R JIGHPAABDAOAHDPAABDA 0.47 0.12 0.005 0.14 0.006
"""


def test_gnubg_benchmark_is_imported(imports: Imports) -> None:
    table = imports.text("gnubg_benchmark", BENCHMARK, "contact.bm")
    assert counts(table) == (13, 12, 1, 0)
    best_play = parse_key20("JIGHPAABDAOAHDPAABDA").id
    other_play = parse_key20("OAHDOEABCBOAHDPAABDA").id
    only_play = parse_key20("JLNLEDABAAOGMMGAAAEH").id
    second = parse_key20("OGMMGAAAEHJLONFCABAA")
    ours_alone = dict.fromkeys(("n_legal_plays", "game", "turn", "network"))  # columns of our own benchmarks
    assert rows(table) == [
        {"decision": 0, "line": 6, **position(START), "die1": 2, "die2": 4, "n_plays": 2, "seed": 17, **ours_alone},
        {"decision": 1, "line": 12, **position(second), "die1": 5, "die2": 1, "n_plays": 1, "seed": None, **ours_alone},
    ]
    plays = rows(table, "benchmark_plays")
    assert [(row["decision"], row["rank"], row["position_id"]) for row in plays] == [
        (0, 0, best_play),
        (0, 1, other_play),
        (1, 0, only_play),
    ]
    assert [row["loss"] for row in plays] == [0.0, 0.0421133, 0.0]
    assert [row["equity"] for row in plays] == [0.114795, pytest.approx(0.114795 - 0.0421133), 1.43587]
    rollouts = rows(table, "benchmark_rollouts")
    assert [(row["line"], row["decision"]) for row in rollouts] == [(4, 0), (5, 0), (13, None)]
    assert [row["win"] for row in rollouts] == pytest.approx([0.47, 0.49, 0.47])
    assert list(rollouts[0]) == ["line", "decision", "position_id", "board", *CHANCES]
    evaluations = [(row["line"], row["kind"], row["seed"]) for row in rows(table, "benchmark_positions")]
    assert evaluations == [(8, "o", -3), (9, "e", None)]
    (cube,) = rows(table, "benchmark_cube_rollouts")
    assert (cube["no_double_mwc"], cube["double_take_mwc"], cube["action"]) == (51.25, 49.875, "ND")
    (best,) = rows(table, "benchmark_best_plays")
    assert (best["die1"], best["die2"], best["next_position_id"], best["win"]) == (3, 1, best_play, 0.5)
    texts = [(row["line"], row["text"]) for row in rows(table, "benchmark_texts")]
    assert texts == [(1, "s version 1.93 weights 1.00"), (2, "# comment")]


def write_sample(imports: Imports, kind: str) -> Path:
    """Write the only file of the sample of a kind."""
    (path,) = IMPORTED[kind].computation.write_sample(imports.folder)
    return path


@each_kind
def test_manifest_describes_the_imported_file(memory_path: Path, kind: str) -> None:
    """The manifest has name, size, hash and date of the file, and the hash of what it unpacks to."""
    imports = Imports(memory_path)
    path = write_sample(imports, kind)
    packed = imports.file(f"{path.name}.bz2", bz2.compress(path.read_bytes()))
    os.utime(packed, (0, datetime(2021, 7, 11, 12, tzinfo=UTC).timestamp()))
    declared = IMPORTED[kind]
    manifest = imports.build(kind, [packed]).manifest
    assert manifest.raw_files == [
        RawFile(
            name=packed.name,
            bytes=packed.stat().st_size,
            sha256=hashlib.sha256(packed.read_bytes()).hexdigest(),
            content_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
            address=gnubg_training.ADDRESS if kind == "gnubg_training" else "",
            licence=declared.licence,
            date="2021-07-11",
        )
    ]
    assert (manifest.dataset, manifest.licence, manifest.source) == (kind, declared.licence, declared.source)


@each_kind
def test_same_file_again_is_not_imported(memory_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    imports = Imports(memory_path)
    table = imports.sample(kind)
    times = {path: path.stat().st_mtime_ns for path in imports.warehouse.root.rglob("*")}
    monkeypatch.setattr(IMPORTED[kind].computation, "compute", Mock(side_effect=AssertionError))
    notes = Notes()
    assert imports.sample(kind, progress=notes).folder == table.folder
    assert notes.texts == [f"{kind}/{table.manifest.variant}: already built ({table.folder.name})"]
    assert {path: path.stat().st_mtime_ns for path in imports.warehouse.root.rglob("*")} == times


@each_kind
def test_forced_import_gives_the_same_version(memory_path: Path, kind: str) -> None:
    imports = Imports(memory_path)
    table = imports.sample(kind)
    manifest = table.manifest
    again = imports.sample(kind, force=True)
    assert again.folder == table.folder
    assert again.manifest.recipe_key == manifest.recipe_key
    assert again.manifest.created > manifest.created


@each_kind
def test_compressed_files_give_the_same_version(memory_path: Path, kind: str) -> None:
    """The name of a compressed file may have any ending."""
    imports = Imports(memory_path)
    plain = imports.sample(kind)
    manifest = plain.manifest
    path = write_sample(imports, kind)
    with Subtests() as subtests:
        for pack, ending in ((gzip.compress, ".gz"), (bz2.compress, "")):
            with subtests.test((pack.__module__, ending)):
                packed = imports.file(f"packed/{path.name}{ending}", pack(path.read_bytes()))
                again = imports.build(kind, [packed], force=True)
                assert again.folder == plain.folder
                assert again.manifest.digest == manifest.digest
                assert again.manifest.recipe_key == manifest.recipe_key


@each_kind
def test_one_read_serves_hash_and_rows(memory_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    imports = Imports(memory_path)
    path = write_sample(imports, kind)
    opened: list[Path] = []
    open_path = Path.open

    def counting_open(self: Path, *arguments: Any, **options: Any) -> Any:
        opened.append(self)
        return open_path(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", counting_open)
    imports.build(kind, [path])
    assert opened.count(path) == 1


@each("kind", [kind for kind in IMPORTED if kind != "gnubg_benchmark"])
def test_two_files_are_imported_in_order_of_name(memory_path: Path, kind: str) -> None:
    imports = Imports(memory_path)
    content = write_sample(imports, kind).read_bytes()
    files = [imports.file(name, content) for name in ("contact-b", "contact-a")]
    two = imports.build(kind, files, name="two")
    assert imports.build(kind, files[::-1], name="two").folder == two.folder
    assert [file.name for file in two.manifest.raw_files] == ["contact-a", "contact-b"]
    one = imports.build(kind, files[:1], name="one")
    assert counts(two)[0] == 2 * counts(one)[0]
    if kind == "matches":  # every match once
        assert two.manifest.rows == one.manifest.rows
    else:
        assert two.manifest.rows == 2 * one.manifest.rows
    if kind not in ("matches", "met_xml"):
        lines = [row["line"] for row in rows(one)]
        expected = [("contact-a", line) for line in lines] + [("contact-b", line) for line in lines]
        assert [(row["source"], row["line"]) for row in rows(two)] == expected


def test_benchmark_of_two_files_is_refused(imports: Imports) -> None:
    files = [imports.file(name, BENCHMARK) for name in ("contact.bm", "contact2.bm")]
    message = "expected one benchmark file, got 2; its tables refer to each other by row"
    with pytest.raises(UsageError, match=message):
        imports.build("gnubg_benchmark", files)
    kind = IMPORTED["gnubg_benchmark"]
    with pytest.raises(UsageError, match=message):
        imports.warehouse.build(kind.name, kind.smallest, files=files)


def test_files_of_the_same_name_are_told_by_folder(imports: Imports) -> None:
    """Rows name their file without the ending of compression; files of the same name get their folders too."""
    files = [imports.file(name, f"{START_ID}\n") for name in ("a/x.csv", "b/x.csv")]
    packed = imports.file("x.csv.gz", gzip.compress(b"4HPwATDgc/ABMA\n"))
    table = imports.build("positions", [packed, *files[::-1]])
    names = ["a:x.csv", "b:x.csv", f"{imports.folder.name}:x.csv"]
    assert [row["source"] for row in rows(table)] == names
    assert [file.name for file in table.manifest.raw_files] == [*names[:2], f"{names[2]}.gz"]
    with pytest.raises(UsageError, match=r"expected files of different names, got .*:a:x\.csv 2 times"):
        imports.build("positions", [files[0], files[0]])


def test_too_many_files_are_refused() -> None:
    files = [Path(f"{number}.csv") for number in range((1 << 16) + 1)]
    IMPORTED["positions"].check_files(files[1:])
    with pytest.raises(UsageError, match="expected at most 65,536 files at once, got 65,537"):
        IMPORTED["positions"].check_files(files)


def test_same_content_under_another_name_is_another_version(imports: Imports) -> None:
    """Sources are part of the rows, so the name changes the digest."""
    tables = [imports.text("positions", START_ID, name, name="x") for name in ("a.csv", "b.csv")]
    assert len({table.manifest.recipe_key for table in tables}) == 2
    assert [rows(table)[0]["source"] for table in tables] == ["a.csv", "b.csv"]


@each_kind
def test_newest_import_is_current(memory_path: Path, kind: str) -> None:
    """Of two imports with one name the newer is current, and building the first again makes it current."""
    imports = Imports(memory_path)
    first = imports.sample(kind)
    path = write_sample(imports, kind)
    content = path.read_bytes()
    path.write_bytes(content + b"# more\n")
    second = imports.build(kind, [path])
    assert whole_versions(imports.warehouse) == sorted([first.name, second.name])
    assert imports.warehouse.open(kind, first.manifest.variant).folder == second.folder
    with imports.warehouse.connect() as connection:
        current = connection.sql("select version from versions where is_current").fetchall()
        view = connection.sql(f"select count(*) from {IMPORTED[kind].tables[0].name}").fetchall()
    assert current == [(second.folder.name,)]
    assert view == [(second.manifest.rows,)]
    path.write_bytes(content)
    imports.build(kind, [path], force=True)
    assert imports.warehouse.open(kind, first.manifest.variant).folder == first.folder


@each(
    ("files", "name", "variant"),
    [
        (["Sample Set 0009.csv.bz2"], None, "sample-set-0009"),
        (["x.csv"], "my-own", "my-own"),
        ([".hidden"], None, "hidden"),
        (["list.v1.csv", "list-1.0"], None, "list-1-0-and-list-v1"),
        (["b.csv", "a.csv.gz"], None, "a-and-b"),
        (["contact.bm"], None, "contact"),
        (["Contact-train-data.bz2"], None, "contact-train-data"),
        (
            [f"{entry}-train-data" for entry in ("contact", "race", "crashed")],
            None,
            "contact-train-data-and-crashed-train-data-and-race-train-data",
        ),
        (
            [f"list-number-{number}.csv" for number in range(4)],
            None,
            "list-number-0-and-list-number-1-and-list-number-2-and-l-b789a0f7",
        ),
        (["a" * 64], None, "a" * 64),
        (["a" * 70], None, f"{'a' * 55}-6bd5e503"),
    ],
)
@each("kind", list(IMPORTED))
def test_variant_is_named_after_files(kind: str, files: list[str], name: str | None, variant: str) -> None:
    """Every kind follows the same rule."""
    if kind == "gnubg_benchmark" and len(files) > 1:
        return
    declared = IMPORTED[kind]
    parameters = declared.parameters_of([Path(file) for file in files], name)
    assert declared.slug(parameters) == variant
    declared.check_parameters(parameters)


NAMES = "expected a name of at most 64 small letters, digits and single - between them, got"


@each("kind", list(IMPORTED))
@each("name", ["", "A", "My own", "a--b", "-a", "a/b", "a_b", "a\n", "../../evil", "a" * 65])
def test_invalid_variant_names_are_refused(kind: str, name: str) -> None:
    """Names are refused rather than changed, so that a variant is found under the name given."""
    with pytest.raises(InvalidParameterError, match=f"{NAMES} {re.escape(repr(name))}$"):
        IMPORTED[kind].parameters_of([Path("contact")], name)


@each_kind
def test_invalid_variant_name_leaves_no_warehouse(memory_path: Path, kind: str) -> None:
    imports = Imports(memory_path)
    path = imports.file("contact", "")
    with pytest.raises(InvalidParameterError, match=NAMES):
        imports.warehouse.build(kind, IMPORTED[kind].parameters("../../evil"), files=[path])
    error = error_of(run(imports.warehouse.root, "import", kind, "--name", "../../evil", path), 2)
    assert error == f"{NAMES} '../../evil'"
    assert list(imports.folder.iterdir()) == [path]


@pytest.mark.parametrize("names", [["+.csv"], ["a.csv", "+.csv"], ["äöü.csv"]])
def test_files_without_a_usable_name_are_refused(names: list[str]) -> None:
    paths = [Path(name) for name in names]
    message = f"expected a file name with letters a to z, got {names[-1]}; try: --name NAME"
    with pytest.raises(InvalidParameterError, match=f"^{re.escape(message)}$"):
        IMPORTED["positions"].parameters_of(paths)
    assert IMPORTED["positions"].slug(IMPORTED["positions"].parameters_of(paths, "mine")) == "mine"


def test_old_imports_named_by_class_are_read() -> None:
    """Older manifests have a class instead of a name."""
    parameters = IMPORTED["gnubg_training"].parameters.from_manifest({"position_class": "race"})
    assert parameters == IMPORTED["gnubg_training"].parameters("race")


RACE_ROW = "AAAAABNMAAAAAAAAAAAA 0.5 0 0 0 0\n"
CONTACT_ROW = "NIKOIJADCANIGOAHADBA 0.5 0 0 0 0\n"


def test_imports_share_view_and_feed(imports: Imports) -> None:
    imports.text("gnubg_training", CONTACT_ROW + RACE_ROW, "mixed")
    imports.text("gnubg_training", CONTACT_ROW, "contact-a")
    imports.text("gnubg_training", 2 * CONTACT_ROW, "contact-b")
    with imports.warehouse.connect() as connection:
        view = connection.sql("select variant, class, count(*) from gnubg_training group by all order by all")
        assert view.fetchall() == [
            ("contact-a", "contact", 1),
            ("contact-b", "contact", 2),
            ("mixed", "contact", 1),
            ("mixed", "race", 1),
        ]
    feed = imports.warehouse.batches("gnubg_training", split="train")
    assert [name.split("/")[1] for name in feed.versions] == ["contact-a", "contact-b", "mixed"]
    assert feed.row_count == 5  # both positions belong to this split


def test_replaced_version_is_named(imports: Imports) -> None:
    """The message has the command that goes back to it."""
    path = imports.file("list.csv", f"{START_ID}\n")
    assert "replaces" not in run(imports.warehouse.root, "import", "positions", path).stderr
    first = imports.warehouse.open("positions", "list")
    assert "replaces" not in run(imports.warehouse.root, "import", "positions", path).stderr
    path.write_text(f"{START_ID}\n" * 2)
    result = run(imports.warehouse.root, "import", "positions", path)
    assert result.exit_code == 0
    second = imports.warehouse.open("positions", "list")
    assert second.folder != first.folder
    hint = f"replaces {first.folder.name}; `bgdata use {first.name}` goes back to it"
    assert [line for line in result.stderr.splitlines() if "replaces" in line] == [hint]
    assert whole_versions(imports.warehouse) == sorted([first.name, second.name])


def test_unpublished_benchmark_gives_a_warning(imports: Imports, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = imports.sample("gnubg_benchmark").manifest
    content = manifest.raw_files[0].content_sha256
    assert manifest.warnings == [
        "contact.bm is none of the published contact.bm, crashed.bm, race.bm of version 1.00 "
        f"(its SHA-256 is {content[:16]}...): scores do not compare with published ones"
    ]
    monkeypatch.setattr(gnubg_benchmark_compute, "published_contents", lambda _: {"contact.bm": content})
    manifest = imports.sample("gnubg_benchmark", force=True).manifest
    assert (manifest.warnings, manifest.raw_files[0].address) == ([], gnubg_benchmark.ADDRESS)


def test_import_command(imports: Imports) -> None:
    path = imports.file("contact.bm", BENCHMARK + "nonsense\nmore nonsense\n")
    result = run(imports.warehouse.root, "import", "gnubg_benchmark", path)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "15 lines read: 12 with rows, 1 of comment or blank, 2 quarantined",
        "           2  expected a line of m, s, #R, o, e, O, c, b, r or a comment",
        '  see them: bgdata query "from quarantine"',
    ]
    *_, warning = result.stderr.splitlines()
    assert warning.startswith("warning: contact.bm is none of the published contact.bm, crashed.bm, race.bm of ")
    quarantine = output_of(imports.warehouse.root, "query", "select line from quarantine", "--format", "csv")
    assert quarantine.split() == ["line", "14", "15"]


def test_strict_import_command_leaves_nothing(imports: Imports) -> None:
    path = imports.file("contact.bm", BENCHMARK + "nonsense\nmore nonsense\n")
    error = error_of(run(imports.warehouse.root, "import", "gnubg_benchmark", path, "--strict"), 1)
    assert error.startswith("expected no line that breaks a rule, found 2, first in contact.bm, line 14: ")
    assert imports.warehouse.variants("gnubg_benchmark") == []
    assert list(imports.warehouse.staging.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "files", "message"),
    [
        ("bearoff_gammon", 1, "expected a kind that is imported from files, got bearoff_gammon; try: bgdata build "),
        ("nothing", 1, "expected a kind of dataset, got 'nothing'"),
        ("gnubg_benchmark", 2, "expected one benchmark file, got 2"),
    ],
)
def test_import_command_refuses_wrong_kinds_and_files(imports: Imports, kind: str, files: int, message: str) -> None:
    paths = [imports.file("x", "")] * files
    assert error_of(run(imports.warehouse.root, "import", kind, *paths), 2).startswith(message)
    assert not imports.warehouse.root.exists()
