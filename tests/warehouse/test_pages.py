"""Tests of pages about tables, match equity, claims, players and openings, against commands and manifests."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import Mock
from xml.etree import ElementTree

import pytest

import bgdata
from bgdata.bearoff.kinds import bearoff_two_sided
from bgdata.bearoff.kinds.bearoff_two_sided import TwoSidedParameters
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.endgames.kinds import contact_endgame
from bgdata.endgames.kinds.contact_endgame import EndgameParameters
from bgdata.endgames.tables import EndgameTable
from bgdata.errors import MissingTableError
from bgdata.game.match import MatchScore
from bgdata.matches.pages import games
from bgdata.matches.pages.games import FILTERS
from bgdata.openings.kinds.openings import DATASET as OPENINGS
from bgdata.store.dataset import ImportedDataset
from bgdata.studies import rows as claims
from bgdata.studies.kinds.claims import DATASET as CLAIMS
from bgdata.studies.pages import register
from bgdata.training.rows import curve_charts, networks
from bgdata.warehouse.pages.lineage import lineage_svg
from bgdata.warehouse.pages.tables import SAMPLE
from bgdata.web.answer import percent
from bgdata.web.app import create_app
from bgdata.web.static_site import write_static
from tests.command_line import output_of
from tests.web.reading import open_client, read

if TYPE_CHECKING:
    from starlette.testclient import TestClient

TABLE = "bearoff_two_sided/3x3"


def read_json(root: Path, *arguments: str) -> object:
    return json.loads(output_of(root, *arguments, "--format", "json"))


def test_lists_equal_those_of_the_commands(client: TestClient, site_root: Path) -> None:
    assert client.get("/table.json").json() == read_json(site_root, "list")
    for kind in ("bearoff_two_sided", "claims", "selfplay", "positions"):
        assert client.get(f"/table/{kind}.json").json() == read_json(site_root, "explain", kind)
        text = read(client, f"/table/{kind}").text
        for column in bgdata.all_kinds()[kind].tables[0].columns:
            assert " ".join(column.meaning.split()) in text


def test_every_table_has_a_page(client: TestClient, site_root: Path) -> None:
    """The page of every version shows its digest and links to its files, and the JSON has its manifest and sample
    rows."""
    for table in bgdata.open_warehouse(site_root).current():
        where = f"/table/{'/'.join(table.folder.parts[-3:-1])}"
        page = read(client, where)
        found = client.get(f"{where}.json").json()
        assert found["manifest"] == json.loads(json.dumps(table.manifest.values()))
        assert (found["name"], found["is_current"], found["damage"]) == (table.name, True, None)
        assert table.manifest.digest in page.text
        assert bool(next(iter(found["tables"].values()))) == (table.manifest.rows > 0), where
        assert f"/file/{table.name}/table.parquet" in page.links


def test_rows_link_to_positions(client: TestClient) -> None:
    page = read(client, f"/table/{TABLE}")
    found = client.get(f"/table/{TABLE}.json").json()["tables"]["bearoff_two_sided"][0]
    board = next(link for link in page.links if link.startswith("/position/") and not link.endswith("ABMA"))
    (probe, *_) = client.get(f"{board}.json").json()["probe"]
    assert probe["cubeless"] == pytest.approx(found["cubeless"])
    assert probe["opponent_owned"] == pytest.approx(found["opponent_owned"])


def test_tables_without_parquet_show_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of a table that is too large for Parquet shows sample rows, with the values and columns of the exact
    table."""
    monkeypatch.setattr(bearoff_two_sided, "PARQUET_PAIRS", 0)
    warehouse = bgdata.open_warehouse(tmp_path)
    exact = TwoSidedTable(warehouse.build("bearoff_two_sided", TwoSidedParameters(3, 3)))
    with open_client(create_app(warehouse)) as client:
        rows = client.get(f"/table/{TABLE}.json").json()["tables"]["bearoff_two_sided"]
        assert len(rows) == SAMPLE
        for row in rows:
            on_roll, opponent, *equities = row.values()
            assert equities == pytest.approx(exact.probe(on_roll, opponent))
        links = read(client, f"/table/{TABLE}").links
        assert sum(link.startswith("/position/") for link in links) >= SAMPLE
    pages = []
    for most in (3, 0):
        monkeypatch.setattr(contact_endgame, "PARQUET_CHECKERS", most)
        warehouse = bgdata.open_warehouse(tmp_path / str(most))
        table = warehouse.build("contact_endgame", EndgameParameters(1))
        with open_client(create_app(warehouse)) as client:
            pages.append(client.get(f"/table/{table.name}.json").json()["tables"]["contact_endgame"])
    with_parquet, flat = pages
    assert len(with_parquet) == len(flat) == SAMPLE
    assert list(flat[0]) == list(with_parquet[0])
    probed = EndgameTable(table)
    for row in flat:
        on_roll, opponent, *equities = row.values()
        assert equities == probed.stored[on_roll, opponent].tolist()


def test_files_of_the_manifest_are_served(client: TestClient, site_root: Path) -> None:
    """The site serves the files that a manifest lists, in whole or in part, and no others."""
    table = bgdata.open_warehouse(site_root).open(*TABLE.split("/"))
    for entry in table.manifest.files:
        answer = client.get(f"/file/{table.name}/{entry.name}")
        assert hashlib.sha256(answer.content).hexdigest() == entry.sha256
        assert answer.headers["etag"] == f'"{entry.sha256}"'
    part = client.get(f"/file/{table.name}/table.parquet", headers={"range": "bytes=0-3"})
    assert (part.status_code, part.content) == (206, b"PAR1")
    assert client.get(f"/file/{table.name}/manifest.json").json()["digest"] == table.manifest.digest
    assert "expected a file of" in client.get(f"/file/{table.name}/other.npy").text
    assert client.get(f"/file/{table.name}/other.npy").status_code == 404
    assert client.get(f"/file/{TABLE}/r1-00000000/table.parquet").status_code == 404


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("/table/bearoff_two", "expected a kind of dataset, got 'bearoff_two'; do you mean bearoff_two_sided"),
        ("/table/bearoff_two_sided/9x9", "no bearoff_two_sided/9x9 in warehouse (have: 3x3, 6x6)"),
        ("/table/bearoff_two_sided/3x3/r1-00000000", "no bearoff_two_sided/3x3/r1-00000000"),
        ("/table/bearoff_two_sided/3X3", "expected a variant named by small letters"),
        ("/table/bearoff_two_sided/3x3/x", "expected a version named by"),
        ("/game/selfplay/none", "no selfplay/none"),
        ("/game/selfplay/pubeval-20-seed-3/99", "expected a game of"),
    ],
)
def test_missing_names_are_refused(client: TestClient, where: str, message: str) -> None:
    assert message in read(client, where, 404).text


def test_lineage_has_all_inputs(site_root: Path) -> None:
    """The graph of a version has one box, with a link, for the version and for each of its direct and indirect inputs,
    and no box hides another."""
    warehouse = bgdata.open_warehouse(site_root)
    for table in warehouse.current():
        root = ElementTree.fromstring(lineage_svg(warehouse, table))
        links = [element.attrib["href"] for element in root.iter() if element.tag.endswith("}a")]
        expected = set[str]()
        waiting = [table]
        while waiting:
            each = waiting.pop()
            expected.add(f"/table/{each.name}")
            waiting += [version_of for name in each.manifest.inputs.values()
                        for version_of in warehouse.versions(*name.partition("@")[0].split("/"))
                        if version_of.manifest.digest == name.partition("@")[2]]  # fmt: skip
        assert set(links) == expected
        assert len(links) == len(expected)
        boxes = [element for element in root.iter() if element.tag.endswith("}rect")]
        assert len({(box.attrib["x"], box.attrib["y"]) for box in boxes}) == len(boxes), "no box hides another"


def test_match_equity_page_equals_the_command(client: TestClient, site_root: Path) -> None:
    """The page of a match equity table has the same JSON as `bgdata met`. Compared with a second table, it shows both
    values at each score."""
    for query, arguments in {
        "": ("show", "published-12"),
        "&away=3-5": ("show", "published-12", "--away", "3-5"),
        "&minus=published-12&length=3": ("compare", "published-12", "published-12", "--length", "3"),
    }.items():
        assert client.get(f"/match-equity.json?met=published-12{query}").json() == read_json(
            site_root, "met", *arguments
        )
    assert "Stakes at 3-away 5-away" in read(client, "/match-equity?met=published-12&away=3-5").text
    where = "/match-equity?met=published-12&minus=tiny-0ply-4-index-0-5&length=3"
    found = {row["away"] * 10 + row["opponent_away"]: row for row in client.get(where.replace("?", ".json?")).json()
             if not row["is_post_crawford"]}  # fmt: skip
    text = client.get(where).text
    assert f"2-away 3-away: published-12, {percent(found[23]['mwc'])}; gammon value" in text
    assert f"tiny-0ply-4-index-0-5, {percent(found[23]['other_mwc'])}; gammon value" in text
    assert f"{where}&away=2-3" in read(client, where).links
    assert "published-12 minus tiny-0ply-4-index-0-5" in read(client, f"{where}&away=2-3").text


@pytest.mark.parametrize(
    ("query", "status", "message"),
    [
        ("met=none", 404, "no match equity table none in warehouse"),
        ("met=/etc/passwd.xml", 404, "no match equity table /etc/passwd.xml"),
        ("met=published-12&away=99-1", 400, "expected at most 12 points to go"),
        ("met=published-12&length=99", 400, "expected a whole number from 1 to 64 as length"),
        ("met=published-12&length=0", 400, "expected a whole number from 1 to 64 as length"),
        ("met=published-12&crawford=7", 400, "expected 1 or 0 as crawford"),
        ("met=published-12&away=3", 400, "expected points that the player on roll and the opponent need"),
    ],
)
def test_invalid_scores_are_refused(client: TestClient, query: str, status: int, message: str) -> None:
    assert message in read(client, f"/match-equity?{query}", status).text


def test_claims_page_lists_the_register(client: TestClient, site_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of claims has the same JSON as `bgdata claims` for every filter; unknown filters are refused."""
    monkeypatch.setattr(claims, "WHOLE", CLAIMS.smallest)
    for query, arguments in {
        "": (),
        "name=A12.luck A12.net": ("A12.luck", "A12.net"),
        "status=open&status=corrected": ("--status", "open", "--status", "corrected"),
        "kind=published_twice": ("--kind", "published_twice"),
        "erratum=1": ("--erratum",),
    }.items():
        assert client.get(f"/claims.json?{query}").json() == read_json(site_root, "claims", *arguments), query
    everything = client.get("/claims.json").json()
    document = everything[0]["document"]
    of_document = client.get("/claims.json", params={"document": document}).json()
    assert of_document == [row for row in everything if row["document"] == document]
    assert "expected a document of claims" in read(client, "/claims?document=none", 400).text
    assert "expected the beginning of a claim" in read(client, "/claims?name=A99", 400).text
    assert "expected a status of claims" in read(client, "/claims?status=lost", 400).text
    assert "expected a kind of claims" in read(client, "/claims?kind=<b>", 400).text


def test_claims_are_split_into_pages(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, site_root: Path, tmp_path: Path
) -> None:
    """The pages of claims together show every claim once and in order. A page after the last is refused, and the static
    site has all claims on one page."""
    monkeypatch.setattr(claims, "WHOLE", CLAIMS.smallest)
    monkeypatch.setattr(register, "PAGE", 3)
    rows = client.get("/claims.json").json()
    last = -(-len(rows) // 3)
    pages = [read(client, f"/claims?page={number}") for number in range(1, last + 1)]
    shown = [row["claim"] for row in rows]
    assert [[name for name in shown if name in page.words] for page in pages] == [
        shown[place : place + 3] for place in range(0, len(shown), 3)
    ]
    assert "/claims?page=2" in pages[0].links
    status = rows[0]["status"]
    assert f"/claims?status={status}" in pages[0].links
    assert "expected a whole number from 1 to" in read(client, f"/claims?page={last + 1}", 400).text
    write_static(bgdata.open_warehouse(site_root), tmp_path / "pages")
    text = (tmp_path / "pages" / "claims.html").read_text()
    assert all(f">{name}<" in text for name in shown)


def test_match_equity_shows_take_points_and_a_scale(client: TestClient, site_root: Path) -> None:
    page = read(client, "/match-equity?met=published-12&show=take&length=5")
    take = bgdata.open_met(site_root, "published-12").take_point(MatchScore(3, 5))
    assert f"{100 * take:.1f}" in page.words
    assert "Take points with a dead cube" in page.text
    differences = read(client, "/match-equity?met=published-12&minus=published-12&length=3")
    assert "Scale, percentage points −2.0 −1.6 −1.2 −0.8 −0.4 +0.0 +0.4 +0.8 +1.2 +1.6 +2.0" in differences.text
    assert "expected mwc or take to show, got 'x'" in read(client, "/match-equity?show=x", 400).text


def test_ledger_lists_every_network(client: TestClient, site_root: Path) -> None:
    """The page of players lists every version of a network, with a chart that links to the page of the version, which
    has all its charts."""
    page = read(client, "/players")
    rows = client.get("/players.json").json()["networks"]
    tables = networks(bgdata.open_warehouse(site_root))
    assert [f"{row['network']}/{row['version']}" for row in rows] == [table.name for table in tables]
    for table in tables:
        assert page.links.count(f"/table/{table.name}") == 2
        text = client.get(f"/table/{table.name}").text
        assert text.count('<svg xmlns="http://www.w3.org/2000/svg" class="chart"') == len(curve_charts(table))


def test_tables_link_to_the_pages_about_them(client: TestClient) -> None:
    for where, seen in {
        "/table/match_equity/published-12": "/match-equity?met=published-12",
        "/table/selfplay/pubeval-20-seed-3": "/game/selfplay/pubeval-20-seed-3",
        "/table/race_error/3x3": "/race?errors=3x3",
    }.items():
        assert seen in read(client, where).links
        assert client.get(seen).status_code == 200


def test_players_page_has_the_scores(client: TestClient) -> None:
    rows = client.get("/players.json").json()
    scores = client.get("/sql.json", params={"q": "from scores order by player_name, ply, measure, against"}).json()
    assert rows["scores"] == scores
    assert "expected a player that was scored here" in read(client, "/players?player=nobody", 400).text


def test_openings_page_has_the_book(client: TestClient) -> None:
    book = client.get("/openings.json?objective=double-match-point").json()
    assert [row["first_roll"] for row in book] == ["31"]
    replies = client.get("/openings.json?objective=double-match-point&roll=13").json()
    assert len(replies) == 21
    assert {row["first_roll"] for row in replies} == {"31"}
    by = f"double-match-point-by-tiny-seed-0: rolled out by {book[0]['network']}"
    assert by in read(client, "/openings?objective=double-match-point").text
    assert "expected an objective" in read(client, "/openings?objective=glory", 400).text
    assert "expected a first roll" in read(client, "/openings?roll=7'", 400).text


def test_rows_of_two_opening_books_name_their_book(site_root: Path, tmp_path: Path) -> None:
    warehouse = bgdata.open_warehouse(shutil.copytree(site_root, tmp_path / "warehouse"))
    warehouse.build(OPENINGS.name, replace(OPENINGS.smallest, seed=1))
    with open_client(create_app(warehouse)) as client:
        page = read(client, "/openings?objective=double-match-point")
    for book in ("double-match-point-by-tiny-seed-0", "double-match-point-by-tiny-seed-1"):
        assert f"{book}: rolled out by" in page.text
        assert f"{book} 31" in page.text


def test_turns_of_a_game_equal_those_of_sql(client: TestClient, site_root: Path) -> None:
    """The page of a game has a row for each turn, with a link to its position, and shows the largest error with the
    best play."""
    table = next(iter(bgdata.open_warehouse(site_root).current("selfplay")))
    where = f"/game/{'/'.join(table.folder.parts[-3:-1])}"
    games = client.get(f"{where}.json").json()
    assert [row["game"] for row in games] == list(range(table.manifest.rows))
    longest = client.get(f"{where}.json?order=long").json()
    assert [row["n_turns"] for row in longest] == sorted((row["n_turns"] for row in games), reverse=True)
    found = client.get(f"{where}/3.json").json()
    assert found["game"]["n_turns"] == len(found["turns"])
    page = read(client, f"{where}/3?turn=4")
    for row in found["turns"]:
        assert any(link.startswith(f"/position/{row['position_id']}") for link in page.links)
    assert len(found["losses"]) == len(found["turns"])
    largest = max(found["losses"])
    turn = found["turns"][found["losses"].index(largest)]
    assert f"turn {turn['turn'] + 1}, {['first', 'second'][turn['player']]}, {largest:.3f}" in page.text
    shown = client.get(f"{where}/3?turn={turn['turn']}").text
    assert f"Played: {turn['play']}" in shown
    best = client.get(f"/position/{turn['position_id']}.json?roll={turn['die1']}{turn['die2']}&plays=1").json()["hint"]
    assert f"Best: {best[0]['play']}, {largest:.3f} better" in shown
    assert shown.count('role="img"') == 2
    hint = client.get(f"/position/{turn['position_id']}.json?roll={turn['die1']}{turn['die2']}&plays=60").json()["hint"]
    assert any(row["loss"] == pytest.approx(largest, abs=1e-6) for row in hint)
    assert client.get(f"{where}/3?turn=9999").status_code == 200
    assert "expected an order of games" in read(client, f"{where}?order=x", 400).text
    assert "expected a whole number from 0 to 2,147,483,647 as number" in read(client, f"{where}/x", 400).text
    assert "expected a whole number from 1" in read(client, f"{where}?page=0", 400).text
    assert "expected a game" in read(client, f"{where}/10000", 404).text
    assert "expected a version with games" in read(client, "/game/bearoff_two_sided/3x3", 404).text


def test_games_of_every_corpus_are_linked_from_the_menu(client: TestClient, empty: TestClient) -> None:
    """The page of games lists every corpus with its number of games, and says so if there are none."""
    assert "/game" in read(client, "/").links
    rows = client.get("/game.json").json()
    links = read(client, "/game").links
    counts = client.get(
        "/sql.json", params={"q": "select dataset, variant, count(*) as n from games group by all"}
    ).json()
    assert {(row["dataset"], row["variant"], row["games"]) for row in rows} == {
        (row["dataset"], row["variant"], row["n"]) for row in counts
    }
    for row in rows:
        assert f"/game/{row['dataset']}/{row['variant']}" in links
    assert empty.get("/game.json").json() == []
    assert "No games here" in read(empty, "/game").text


def test_players_keep_their_sides_in_a_replay(client: TestClient) -> None:
    """While one steps through a game, the first player is always below and the second always above."""
    for turn in range(4):
        page = read(client, f"/game/selfplay/pubeval-20-seed-3/3?turn={turn}")
        (side,) = (word for word in ("(light, below)", "(dark, above)") if word in page.text)
        found = client.get("/game/selfplay/pubeval-20-seed-3/3.json").json()["turns"][turn]
        assert side == ["(light, below)", "(dark, above)"][found["on_roll"]]


@pytest.fixture(scope="module")
def known_root(site_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with four known games of a match, in which every cube action occurs. `crawford` is another match,
    `money` a session without doubles, and `jacoby` one with doubles, with and without the Jacoby rule."""
    folder = tmp_path_factory.mktemp("known")
    shutil.copytree(site_root, folder / "warehouse")
    warehouse = bgdata.open_warehouse(folder / "warehouse")
    kind = warehouse.kinds["matches"]
    assert isinstance(kind, ImportedDataset)
    money = " 0 point match\n\n" + MISSED
    doubled = " 0 point match\n\n" + DOUBLED
    jacoby = f'; [Jacoby "On"]\n{doubled}\n{doubled.replace("Ann", "Eve")}'  # the same session would be left out
    texts = {"known": KNOWN, "crawford": CRAWFORD, "money": money, "jacoby": jacoby}
    for name, text in texts.items():
        path = folder / f"{name}.mat"
        path.write_text(text)
        warehouse.build(kind.name, kind.parameters_of([path], name), files=[path])
    return folder / "warehouse"


@pytest.fixture(scope="module")
def known_games_site(known_root: Path) -> Iterator[tuple[TestClient, str]]:
    """(client of a site over the known games, address of the four games)."""
    with open_client(create_app(bgdata.open_warehouse(known_root))) as client:
        yield client, "/game/matches/known"


KNOWN = """ 7 point match

 Game 1
 Ann : 0                             Bob : 0
  1) 31: 8/5 6/5                      Doubles => 2
  2)  Takes                           64: 24/14
  3) 52: 13/8 24/22                   61: 13/7 8/7
  4)  Doubles => 4                    Takes
  5) 21: 13/11 6/5
      Wins 12 points

 Game 2
 Ann : 0                             Bob : 0
  1)                                  43: 24/20 13/10
  2)  Doubles => 2                    Drops
      Wins 1 point

 Game 3
 Ann : 1                             Bob : 0
  1) 65: 24/13                        31: 8/5 6/5
                                      Wins 3 points

 Game 4
 Ann : 1                             Bob : 3
  1)                                  21: 24/22 24/23
  2) 55: 13/3*(2)                     63:
  3) 42: 8/4 6/4                      63:
      Wins 1 point
"""
# Ann should double before her last roll, and Bob should take
MISSED = """ Game 1
 Ann : 0                             Bob : 0
  1)                                  21: 24/22 24/23
  2) 55: 13/3*(2)                     63:
  3) 42: 8/4 6/4                      63:
      Wins 2 points
"""
# Ann doubles too soon, which costs less if gammons count only after a double
DOUBLED = MISSED.replace("2) 55", "2)  Doubles => 2                    Takes\n  3) 55").replace("3) 42", "4) 42")
# the Crawford game is not marked; after it, by the model, waiting with the double costs Bob almost nothing
BOB_WINS = MISSED.replace("Ann : 0", "Ann : 2").replace("      Wins 2 points", f"{'Wins 1 point':>50}")
CRAWFORD = f""" 3 point match

{MISSED}
{BOB_WINS.replace("Game 1", "Game 2")}
{BOB_WINS.replace("Game 1", "Game 3").replace("Bob : 0", "Bob : 1")}"""


def test_filters_find_known_games(known_games_site: tuple[TestClient, str]) -> None:
    """Each filter of games finds exactly the games that it should: four games are known, with two backgammons, a
    doubled cube, and a missed double."""
    client, where = known_games_site
    games = {row["game"]: row["points_won"] for row in client.get(f"{where}.json").json()}
    assert games == {0: 12, 1: 1, 2: 3, 3: 1}
    found = {order: [row["game"] for row in client.get(f"{where}.json?order={order}").json()] for order in FILTERS}
    assert found == {
        "all": [0, 1, 2, 3], "long": [0, 3, 1, 2], "points": [0, 2, 1, 3], "backgammon": [0, 2], "swing": [],
        "cube": [0, 1], "take": [0], "pass": [1], "missed": [3],
    }  # fmt: skip


def test_largest_swing_is_of_one_roll(client: TestClient) -> None:
    query = "select dataset, variant from turns where luck is not null group by all"
    for corpus in client.get("/sql.json", params={"q": query}).json():
        where = f"/game/{corpus['dataset']}/{corpus['variant']}"
        games = [row["game"] for row in client.get(f"{where}.json?order=swing").json()][:4]
        turns = [client.get(f"{where}/{game}.json").json()["turns"] for game in games]
        swings = [max(abs(turn["luck"]) for turn in each if turn["luck"]) for each in turns]
        assert swings == sorted(swings, reverse=True)
        assert f"{swings[0]:.3f}" in read(client, f"{where}?order=swing").text


def test_replay_draws_and_links_the_turns(known_games_site: tuple[TestClient, str]) -> None:
    """The page of a known game names the player on roll and the play of each turn, links each turn to its position with
    the right roll, score and cube, and judges each cube decision."""
    client, where = known_games_site
    found = client.get(f"{where}/0.json").json()
    actions = [turn["action"] for turn in found["turns"]]
    decided = [False, True, True, False, True, False, True, True, False]  # Ann may double only in turn 4
    assert [loss is not None for loss in found["cube_losses"]] == decided
    assert [best is not None for best in found["best_cube_actions"]] == decided
    assert all(loss >= 0 for loss in found["cube_losses"] if loss is not None)
    links = read(client, f"{where}/0").links
    for turn, cube in ((3, "cube=2"), (actions.index("double"), "away=7-7"), (len(actions) - 1, "cube=4&owner=")):
        row = found["turns"][turn]
        roll = f"roll={row['die1']}{row['die2']}" if row["die1"] else "?away"
        wanted = (f"/position/{row['position_id']}?", cube, roll)
        (link,) = {each for each in links if all(word in each for word in wanted)}
        assert "away=7-7" in link
        assert client.get(link).status_code == 200
    page = client.get(f"{where}/0?turn=0").text
    first = client.get(f"{where}/0?turn=1").text
    assert "Play: 8/5 6/5." in page
    assert "Turn 1: Ann (light, below) has 31 to play." in page
    assert ">Ann to play, 7-away, 167 pips<" in page
    assert "Turn 2: Bob (dark, above) is on roll: double." in first
    assert ">Bob on roll, 7-away, " in first
    answer = client.get(f"{where}/0?turn={actions.index('take')}").text
    assert "Bob (dark, above) doubles; Ann answers: take." in answer
    assert ">Bob doubles, 7-away, " in answer
    assert ">Ann to answer, 7-away, " in answer
    assert "away=6-7" in client.get(f"{where}/2").text
    assert "Ann (light) against Bob (dark), 1 to 0 in a match to 7" in read(client, f"{where}/2").text


def test_missed_doubles_are_judged(known_games_site: tuple[TestClient, str]) -> None:
    """A missed double has the same loss in the replay, the list of errors, the totals and the JSON of a game, and on
    the page of its position."""
    client, where = known_games_site
    found = client.get(f"{where}/3.json").json()
    losses = found["cube_losses"]
    assert [loss is None for loss in losses] == [True, *[False] * 4], "no double before the first roll"
    assert losses[1:3] == [0, 0]
    assert losses[3] > 0.003
    assert found["best_cube_actions"] == [None, "no double", "no double", "double, take", "no double"]
    error = {"turn": 3, "player": 0, "is_cube": True, "made": "no double", "best": "double, take", "loss": losses[3]}
    assert found["errors"][0] == error
    assert [total["missed_doubles"] for total in found["totals"]] == [losses[3], 0]
    assert [total["cube_actions"] for total in found["totals"]] == [0, 0]
    page = read(client, f"{where}/3?turn=3")
    (size,) = re.findall(r"turn 4, Ann, no double \(best: double, take\), (\d\.\d{3}) ", page.text)
    assert float(size) > losses[3], "points are larger than mwc"
    assert f"no double (best: double, take) {size}" in page.text
    assert f"The cube: no double (best: double, take), lost {size} points, {100 * losses[3]:.2f} % mwc." in page.text
    assert f'title="{100 * losses[3]:.2f} % mwc' in client.get(f"{where}/3?turn=3").text
    assert f"missed doubles, mwc Ann 0.000 0.00 % {100 * losses[3]:.2f} % Bob" in re.sub(
        r"Ann \d\.\d{3}", "Ann 0.000", page.text
    )
    decision = f"/position/{found['turns'][3]['position_id']}?away=6-4"
    assert decision in page.links
    cube = client.get(decision.replace("?", ".json?")).json()["cube"][0]
    assert cube["best"] == ["double_take"]
    assert cube["double_gain"] == pytest.approx(losses[3], abs=1e-7)
    message = "Of the 4 games of this page, those in which a roll without a double lost 0.02"
    assert message in read(client, f"{where}?order=missed").text


def test_games_without_the_cube_have_no_missed_doubles(
    known_games_site: tuple[TestClient, str], client: TestClient
) -> None:
    """Games in which nobody may double have no missed doubles: the Crawford game, whether it is marked as such or not,
    and games played without the cube."""
    known_client, _ = known_games_site
    games = [known_client.get(f"/game/matches/crawford/{number}.json").json() for number in range(3)]
    missed = [[row["turn"] for row in game["errors"] if row["is_cube"]] for game in games]
    assert missed == [[3], [], []]
    assert games[2]["best_cube_actions"][2].startswith("double")
    assert games[1]["best_cube_actions"] == [None] * 5
    assert [game["game"]["is_crawford"] for game in games] == [None] * 3  # JSON has the recorded values
    page = read(known_client, "/game/matches/crawford/1").text
    assert "the Crawford game" in page
    assert "missed doubles" not in page
    assert [row["game"] for row in known_client.get("/game/matches/crawford.json?order=missed").json()] == [0]
    assert known_client.get("/game/matches/money/0.json").json()["cube_losses"] == [None] * 5
    assert known_client.get("/game/matches/money.json?order=missed").json() == []
    assert client.get("/game/selfplay/pubeval-20-seed-3.json?order=missed").json() == []
    text = read(client, "/game/selfplay/pubeval-20-seed-3?order=missed").text
    assert "No game of these is like that" in text


def test_jacoby_rule_is_taken_from_the_record(known_games_site: tuple[TestClient, str]) -> None:
    """Doubles are judged by the Jacoby rule in the session whose record states it, and without it in the next
    session."""
    client, _ = known_games_site
    losses = []
    for number, rule in ((0, 1), (1, 0)):
        found = client.get(f"/game/matches/jacoby/{number}.json").json()
        turn = next(turn for turn, row in enumerate(found["turns"]) if row["action"] == "double")
        row = found["turns"][turn]
        loss = found["cube_losses"][turn]
        page = read(client, f"/game/matches/jacoby/{number}?turn={turn}")
        assert (", by the Jacoby rule" in page.text) == bool(rule)
        cube = client.get(f"/position/{row['position_id']}.json?jacoby={rule}").json()["cube"][0]
        assert loss == pytest.approx(-cube["double_gain"], abs=1e-7)
        assert any(f"{row['position_id']}?" in link and "jacoby=1" in link for link in page.links) == bool(rule)
        losses.append(loss)
    assert 0 < losses[0] < losses[1]


def test_doubles_are_not_judged_without_a_met(known_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a match equity table, the page of a game says why doubles are not judged, and the filter for missed
    doubles is refused."""
    message = "expected a match equity table, found none"
    monkeypatch.setattr(games, "met_of", Mock(side_effect=MissingTableError(message)))
    where = "/game/matches/known"
    with open_client(create_app(bgdata.open_warehouse(known_root))) as client:
        assert f"Doubles, takes and passes are not judged: {message}" in read(client, f"{where}/3").text
        found = client.get(f"{where}/3.json").json()
        assert found["cube_losses"] == [None] * 5
        assert [error["is_cube"] for error in found["errors"]] == [False]
        assert "expected games whose doubles can be judged: " in read(client, f"{where}?order=missed", 400).text


def test_filter_finds_games_with_a_double(client: TestClient) -> None:
    query = "select dataset, variant, list(distinct game order by game) as games from turns where action = 'double'"
    corpora = client.get("/sql.json", params={"q": f"{query} group by all"}).json()
    assert corpora
    for row in corpora:
        found = client.get(f"/game/{row['dataset']}/{row['variant']}.json?order=cube").json()
        assert [each["game"] for each in found] == row["games"]
    assert "No game of this corpus is like that" in read(client, "/game/selfplay/pubeval-20-seed-3?order=cube").text
