"""Tests of pages about tables, match equity, claims, players and openings, against commands and manifests."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
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
from bgdata.store.table import Table
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
GAME = "/game/selfplay/pubeval-20-seed-3/3"
KNOWN_GAMES = "/game/matches/known"


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
    for table in bgdata.open_warehouse(site_root).current():
        where = f"/table/{'/'.join(table.folder.parts[-3:-1])}"
        page = read(client, where)
        assert table.manifest.digest in page.text
        assert f"/file/{table.name}/table.parquet" in page.links
        data = client.get(f"{where}.json").json()
        assert data["manifest"] == json.loads(json.dumps(table.manifest.values()))
        assert (data["name"], data["is_current"], data["damage"]) == (table.name, True, None)
        sample = next(iter(data["tables"].values()))
        assert bool(sample) == (table.manifest.rows > 0), where


def test_rows_link_to_positions(client: TestClient) -> None:
    page = read(client, f"/table/{TABLE}")
    row = client.get(f"/table/{TABLE}.json").json()["tables"]["bearoff_two_sided"][0]
    finished = "ABMA"  # the end of the identifier of the game's end
    position = next(link for link in page.links if link.startswith("/position/") and not link.endswith(finished))
    (probe, *_) = client.get(f"{position}.json").json()["probe"]
    assert probe["cubeless"] == pytest.approx(row["cubeless"])
    assert probe["opponent_owned"] == pytest.approx(row["opponent_owned"])


def test_two_sided_table_without_parquet_shows_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of a table that is too large for Parquet shows sample rows with the values of the exact table."""
    monkeypatch.setattr(bearoff_two_sided, "PARQUET_PAIRS", 0)
    warehouse = bgdata.open_warehouse(tmp_path)
    exact = TwoSidedTable(warehouse.build("bearoff_two_sided", TwoSidedParameters(3, 3)))
    with open_client(create_app(warehouse)) as client:
        rows = client.get(f"/table/{TABLE}.json").json()["tables"]["bearoff_two_sided"]
        links = read(client, f"/table/{TABLE}").links
    assert len(rows) == SAMPLE
    for row in rows:
        on_roll, opponent, *equities = row.values()
        assert equities == pytest.approx(exact.probe(on_roll, opponent))
    assert sum(link.startswith("/position/") for link in links) >= SAMPLE


def test_contact_endgame_without_parquet_shows_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows have the columns that they have in Parquet, and the values of the table."""

    def sample_rows(name: str, most_checkers: int) -> tuple[Table, list[dict[str, Any]]]:
        monkeypatch.setattr(contact_endgame, "PARQUET_CHECKERS", most_checkers)
        warehouse = bgdata.open_warehouse(tmp_path / name)
        table = warehouse.build("contact_endgame", EndgameParameters(1))
        with open_client(create_app(warehouse)) as client:
            return table, client.get(f"/table/{table.name}.json").json()["tables"]["contact_endgame"]

    _, with_parquet = sample_rows("with_parquet", most_checkers=3)
    table, without_parquet = sample_rows("without_parquet", most_checkers=0)
    assert len(with_parquet) == len(without_parquet) == SAMPLE
    assert list(without_parquet[0]) == list(with_parquet[0])
    for row in without_parquet:
        on_roll, opponent, *equities = row.values()
        assert equities == EndgameTable(table).stored[on_roll, opponent].tolist()


def test_files_of_the_manifest_are_served(client: TestClient, site_root: Path) -> None:
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

    def names_with_inputs(table: Table) -> set[str]:
        inputs = warehouse.made_from(table).values()
        return {table.name}.union(*(names_with_inputs(needed) for needed in inputs))

    for table in warehouse.current():
        elements = list(ElementTree.fromstring(lineage_svg(warehouse, table)).iter())
        links = [element.attrib["href"] for element in elements if element.tag.endswith("}a")]
        assert sorted(links) == sorted(f"/table/{name}" for name in names_with_inputs(table))
        boxes = [element for element in elements if element.tag.endswith("}rect")]
        assert len({(box.attrib["x"], box.attrib["y"]) for box in boxes}) == len(boxes), "no box hides another"


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("", ("show", "published-12")),
        ("&away=3-5", ("show", "published-12", "--away", "3-5")),
        ("&minus=published-12&length=3", ("compare", "published-12", "published-12", "--length", "3")),
    ],
    ids=["table", "score", "difference"],
)
def test_match_equity_page_equals_the_command(
    client: TestClient, site_root: Path, query: str, arguments: tuple[str, ...]
) -> None:
    answer = client.get(f"/match-equity.json?met=published-12{query}")
    assert answer.json() == read_json(site_root, "met", *arguments)


def test_match_equity_page_shows_the_values_of_two_tables(client: TestClient) -> None:
    """Compared with a second table, the page shows both values at each score."""
    assert "Stakes at 3-away 5-away" in read(client, "/match-equity?met=published-12&away=3-5").text
    query = "?met=published-12&minus=tiny-0ply-4-index-0-5&length=3"
    (row,) = (
        row
        for row in client.get(f"/match-equity.json{query}").json()
        if (row["away"], row["opponent_away"], row["is_post_crawford"]) == (2, 3, False)
    )
    html = client.get(f"/match-equity{query}").text
    assert f"2-away 3-away: published-12, {percent(row['mwc'])}; gammon value" in html
    assert f"tiny-0ply-4-index-0-5, {percent(row['other_mwc'])}; gammon value" in html
    assert f"/match-equity{query}&away=2-3" in read(client, f"/match-equity{query}").links
    assert "published-12 minus tiny-0ply-4-index-0-5" in read(client, f"/match-equity{query}&away=2-3").text


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


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("", ()),
        ("name=A12.luck A12.net", ("A12.luck", "A12.net")),
        ("status=open&status=corrected", ("--status", "open", "--status", "corrected")),
        ("kind=published_twice", ("--kind", "published_twice")),
        ("erratum=1", ("--erratum",)),
    ],
    ids=["all", "name", "status", "kind", "erratum"],
)
def test_claims_page_equals_the_command(
    client: TestClient, site_root: Path, monkeypatch: pytest.MonkeyPatch, query: str, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr(claims, "WHOLE", CLAIMS.smallest)
    assert client.get(f"/claims.json?{query}").json() == read_json(site_root, "claims", *arguments)


def test_claims_are_filtered_by_document(client: TestClient) -> None:
    rows = client.get("/claims.json").json()
    document = rows[0]["document"]
    rows_of_document = client.get("/claims.json", params={"document": document}).json()
    assert rows_of_document == [row for row in rows if row["document"] == document]


def test_unknown_filters_of_claims_are_refused(client: TestClient) -> None:
    assert "expected a document of claims" in read(client, "/claims?document=none", 400).text
    assert "expected the beginning of a claim" in read(client, "/claims?name=A99", 400).text
    assert "expected a status of claims" in read(client, "/claims?status=lost", 400).text
    assert "expected a kind of claims" in read(client, "/claims?kind=<b>", 400).text


def test_claims_are_split_into_pages(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "WHOLE", CLAIMS.smallest)
    monkeypatch.setattr(register, "PAGE", 3)
    rows = client.get("/claims.json").json()
    names = [row["claim"] for row in rows]
    n_pages = math.ceil(len(names) / 3)
    for number in range(1, n_pages + 1):
        page = read(client, f"/claims?page={number}")
        assert [name for name in names if name in page.words] == names[3 * number - 3 : 3 * number]
    first_links = read(client, "/claims?page=1").links
    assert "/claims?page=2" in first_links
    assert f"/claims?status={rows[0]['status']}" in first_links
    assert "expected a whole number from 1 to" in read(client, f"/claims?page={n_pages + 1}", 400).text


def test_static_site_has_all_claims_on_one_page(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, site_root: Path, tmp_path: Path
) -> None:
    monkeypatch.setattr(claims, "WHOLE", CLAIMS.smallest)
    monkeypatch.setattr(register, "PAGE", 3)
    write_static(bgdata.open_warehouse(site_root), tmp_path / "pages")
    html = (tmp_path / "pages" / "claims.html").read_text()
    for row in client.get("/claims.json").json():
        assert f">{row['claim']}<" in html


def test_match_equity_shows_take_points_and_a_scale(client: TestClient, site_root: Path) -> None:
    page = read(client, "/match-equity?met=published-12&show=take&length=5")
    take = bgdata.open_met(site_root, "published-12").take_point(MatchScore(3, 5))
    assert f"{100 * take:.1f}" in page.words
    assert "Take points with a dead cube" in page.text
    differences = read(client, "/match-equity?met=published-12&minus=published-12&length=3")
    assert "Scale, percentage points −2.0 −1.6 −1.2 −0.8 −0.4 +0.0 +0.4 +0.8 +1.2 +1.6 +2.0" in differences.text
    assert "expected mwc or take to show, got 'x'" in read(client, "/match-equity?show=x", 400).text


def test_ledger_lists_every_network(client: TestClient, site_root: Path) -> None:
    page = read(client, "/players")
    rows = client.get("/players.json").json()["networks"]
    tables = networks(bgdata.open_warehouse(site_root))
    assert [f"{row['network']}/{row['version']}" for row in rows] == [table.name for table in tables]
    for table in tables:
        assert page.links.count(f"/table/{table.name}") == 2
        text = client.get(f"/table/{table.name}").text
        assert text.count('<svg xmlns="http://www.w3.org/2000/svg" class="chart"') == len(curve_charts(table))


@pytest.mark.parametrize(
    ("table", "page"),
    [
        ("match_equity/published-12", "/match-equity?met=published-12"),
        ("selfplay/pubeval-20-seed-3", "/game/selfplay/pubeval-20-seed-3"),
        ("race_error/3x3", "/race?errors=3x3"),
    ],
)
def test_tables_link_to_the_pages_about_them(client: TestClient, table: str, page: str) -> None:
    assert page in read(client, f"/table/{table}").links
    assert client.get(page).status_code == 200


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


def test_games_of_a_corpus_are_listed(client: TestClient, site_root: Path) -> None:
    table = next(iter(bgdata.open_warehouse(site_root).current("selfplay")))
    where = f"/game/selfplay/{table.manifest.variant}"
    games = client.get(f"{where}.json").json()
    assert [row["game"] for row in games] == list(range(table.manifest.rows))
    longest = client.get(f"{where}.json?order=long").json()
    assert [row["n_turns"] for row in longest] == sorted((row["n_turns"] for row in games), reverse=True)


def test_page_of_a_game_shows_its_turns_and_largest_error(client: TestClient) -> None:
    game = client.get(f"{GAME}.json").json()
    turns, losses = game["turns"], game["losses"]
    assert game["game"]["n_turns"] == len(turns) == len(losses)
    page = read(client, f"{GAME}?turn=4")
    for row in turns:
        assert any(link.startswith(f"/position/{row['position_id']}") for link in page.links)
    largest = max(losses)
    error = turns[losses.index(largest)]
    assert f"turn {error['turn'] + 1}, {['first', 'second'][error['player']]}, {largest:.3f}" in page.text
    position = f"/position/{error['position_id']}.json?roll={error['die1']}{error['die2']}"
    best = client.get(f"{position}&plays=1").json()["hint"][0]["play"]
    html = client.get(f"{GAME}?turn={error['turn']}").text
    assert f"Played: {error['play']}" in html
    assert f"Best: {best}, {largest:.3f} better" in html
    assert html.count('role="img"') == 2
    losses_of_plays = [row["loss"] for row in client.get(f"{position}&plays=60").json()["hint"]]
    assert min(abs(loss - largest) for loss in losses_of_plays) < 1e-6
    assert client.get(f"{GAME}?turn=9999").status_code == 200


@pytest.mark.parametrize(
    ("where", "status", "message"),
    [
        ("/game/selfplay/pubeval-20-seed-3?order=x", 400, "expected an order of games"),
        ("/game/selfplay/pubeval-20-seed-3/x", 400, "expected a whole number from 0 to 2,147,483,647 as number"),
        ("/game/selfplay/pubeval-20-seed-3?page=0", 400, "expected a whole number from 1"),
        ("/game/selfplay/pubeval-20-seed-3/10000", 404, "expected a game"),
        ("/game/bearoff_two_sided/3x3", 404, "expected a version with games"),
    ],
)
def test_invalid_games_are_refused(client: TestClient, where: str, status: int, message: str) -> None:
    assert message in read(client, where, status).text


def test_games_of_every_corpus_are_linked_from_the_menu(client: TestClient) -> None:
    assert "/game" in read(client, "/").links
    query = "select dataset, variant, count(*) as games from games group by all order by all"
    expected = client.get("/sql.json", params={"q": query}).json()
    rows = client.get("/game.json").json()
    corpora = [{name: row[name] for name in ("dataset", "variant", "games")} for row in rows]
    assert sorted(corpora, key=lambda row: (row["dataset"], row["variant"])) == expected
    links = read(client, "/game").links
    for row in rows:
        assert f"/game/{row['dataset']}/{row['variant']}" in links


def test_page_of_games_of_an_empty_warehouse(empty: TestClient) -> None:
    assert empty.get("/game.json").json() == []
    assert "No games here" in read(empty, "/game").text


def test_players_keep_their_sides_in_a_replay(client: TestClient) -> None:
    turns = client.get(f"{GAME}.json").json()["turns"]
    for row in turns[:4]:
        text = read(client, f"{GAME}?turn={row['turn']}").text
        assert ("(light, below)" in text) == (row["on_roll"] == 0)
        assert ("(dark, above)" in text) == (row["on_roll"] == 1)


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
def known_client(known_root: Path) -> Iterator[TestClient]:
    """A client of a site over the known games."""
    with open_client(create_app(bgdata.open_warehouse(known_root))) as client:
        yield client


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


def test_filters_find_known_games(known_client: TestClient) -> None:
    """Four games are known, with two backgammons, a doubled cube, and a missed double."""
    rows = known_client.get(f"{KNOWN_GAMES}.json").json()
    assert [row["points_won"] for row in rows] == [12, 1, 3, 1]
    expected: dict[str, list[int]] = {
        "all": [0, 1, 2, 3],
        "long": [0, 3, 1, 2],
        "points": [0, 2, 1, 3],
        "backgammon": [0, 2],
        "swing": [],
        "cube": [0, 1],
        "take": [0],
        "pass": [1],
        "missed": [3],
    }
    assert expected.keys() == set(FILTERS)
    for order in expected:
        rows = known_client.get(f"{KNOWN_GAMES}.json?order={order}").json()
        assert [row["game"] for row in rows] == expected[order]
    assert "No game of this corpus is like that" in read(known_client, f"{KNOWN_GAMES}?order=swing").text


def test_largest_swing_is_of_one_roll(client: TestClient) -> None:
    query = "select dataset, variant from turns where luck is not null group by all"
    for corpus in client.get("/sql.json", params={"q": query}).json():
        where = f"/game/{corpus['dataset']}/{corpus['variant']}"
        swings = []
        for row in client.get(f"{where}.json?order=swing").json()[:4]:
            turns = client.get(f"{where}/{row['game']}.json").json()["turns"]
            swings.append(max(abs(turn["luck"]) for turn in turns if turn["luck"]))
        assert swings == sorted(swings, reverse=True)
        assert f"{swings[0]:.3f}" in read(client, f"{where}?order=swing").text


def test_cube_decisions_of_a_replay_are_judged(known_client: TestClient) -> None:
    game = known_client.get(f"{KNOWN_GAMES}/0.json").json()
    is_decision = [False, True, True, False, True, False, True, True, False]  # Ann may double only in turn 4
    assert [loss is not None for loss in game["cube_losses"]] == is_decision
    assert [best is not None for best in game["best_cube_actions"]] == is_decision
    assert min(loss for loss in game["cube_losses"] if loss is not None) >= 0


def test_turns_of_a_replay_link_to_positions(known_client: TestClient) -> None:
    """The links have the right roll, score and cube."""
    turns = known_client.get(f"{KNOWN_GAMES}/0.json").json()["turns"]
    links = read(known_client, f"{KNOWN_GAMES}/0").links
    first_double = [turn["action"] for turn in turns].index("double")
    for turn, roll, cube in (
        (first_double, "?away", "away=7-7"),
        (3, "roll=64", "cube=2"),
        (len(turns) - 1, "roll=21", "cube=4&owner="),
    ):
        position = f"/position/{turns[turn]['position_id']}?"
        (link,) = {link for link in links if position in link and roll in link and cube in link}
        assert "away=7-7" in link
        assert known_client.get(link).status_code == 200
    assert "away=6-7" in known_client.get(f"{KNOWN_GAMES}/2").text


def test_replay_names_players_and_plays(known_client: TestClient) -> None:
    first = known_client.get(f"{KNOWN_GAMES}/0?turn=0").text
    assert "Play: 8/5 6/5." in first
    assert "Turn 1: Ann (light, below) has 31 to play." in first
    assert ">Ann to play, 7-away, 167 pips<" in first
    double = known_client.get(f"{KNOWN_GAMES}/0?turn=1").text
    assert "Turn 2: Bob (dark, above) is on roll: double." in double
    assert ">Bob on roll, 7-away, " in double
    take = known_client.get(f"{KNOWN_GAMES}/0?turn=2").text
    assert "Bob (dark, above) doubles; Ann answers: take." in take
    assert ">Bob doubles, 7-away, " in take
    assert ">Ann to answer, 7-away, " in take
    third_game = read(known_client, f"{KNOWN_GAMES}/2").text
    assert "Ann (light) against Bob (dark), 1 to 0 in a match to 7" in third_game


def test_missed_double_is_an_error_of_the_game(known_client: TestClient) -> None:
    """A missed double has the same loss in the replay, the list of errors, the totals and the JSON of a game, and on
    the page of its position."""
    game = known_client.get(f"{KNOWN_GAMES}/3.json").json()
    assert game["best_cube_actions"] == [None, "no double", "no double", "double, take", "no double"]
    losses = game["cube_losses"]
    assert losses[:3] == [None, 0, 0]  # no double before the first roll
    missed = losses[3]
    assert missed > 0.003
    error = {"turn": 3, "player": 0, "is_cube": True, "made": "no double", "best": "double, take", "loss": missed}
    assert game["errors"][0] == error
    assert [total["missed_doubles"] for total in game["totals"]] == [missed, 0]
    assert [total["cube_actions"] for total in game["totals"]] == [0, 0]

    page = read(known_client, f"{KNOWN_GAMES}/3?turn=3")
    percent_mwc = f"{100 * missed:.2f} %"
    (points,) = re.findall(r"turn 4, Ann, no double \(best: double, take\), (\d\.\d{3}) ", page.text)
    assert float(points) > missed, "points are larger than mwc"
    assert f"no double (best: double, take) {points}" in page.text
    assert f"The cube: no double (best: double, take), lost {points} points, {percent_mwc} mwc." in page.text
    assert f'title="{percent_mwc} mwc' in known_client.get(f"{KNOWN_GAMES}/3?turn=3").text
    assert re.search(rf"missed doubles, mwc Ann \d\.\d{{3}} 0\.00 % {percent_mwc} Bob", page.text)

    position = f"/position/{game['turns'][3]['position_id']}?away=6-4"
    assert position in page.links
    decision = known_client.get(position.replace("?", ".json?")).json()["cube"][0]
    assert decision["best"] == ["double_take"]
    assert decision["double_gain"] == pytest.approx(missed, abs=1e-7)
    message = "Of the 4 games of this page, those in which a roll without a double lost 0.02"
    assert message in read(known_client, f"{KNOWN_GAMES}?order=missed").text


def test_crawford_game_has_no_missed_doubles(known_client: TestClient) -> None:
    """The second of three games is the Crawford game, although it is not marked; JSON has the recorded values."""
    games = [known_client.get(f"/game/matches/crawford/{number}.json").json() for number in range(3)]
    assert [game["game"]["is_crawford"] for game in games] == [None] * 3
    missed = [[row["turn"] for row in game["errors"] if row["is_cube"]] for game in games]
    assert missed == [[3], [], []]
    assert games[1]["best_cube_actions"] == [None] * 5
    assert games[2]["best_cube_actions"][2].startswith("double")
    text = read(known_client, "/game/matches/crawford/1").text
    assert "the Crawford game" in text
    assert "missed doubles" not in text
    rows = known_client.get("/game/matches/crawford.json?order=missed").json()
    assert [row["game"] for row in rows] == [0]


def test_games_without_the_cube_have_no_missed_doubles(known_client: TestClient, client: TestClient) -> None:
    assert known_client.get("/game/matches/money/0.json").json()["cube_losses"] == [None] * 5
    assert known_client.get("/game/matches/money.json?order=missed").json() == []
    assert client.get("/game/selfplay/pubeval-20-seed-3.json?order=missed").json() == []
    text = read(client, "/game/selfplay/pubeval-20-seed-3?order=missed").text
    assert "No game of these is like that" in text


def test_jacoby_rule_is_taken_from_the_record(known_client: TestClient) -> None:
    def loss_of_double(session: int, *, is_jacoby: bool) -> float:
        game = known_client.get(f"/game/matches/jacoby/{session}.json").json()
        turn = [row["action"] for row in game["turns"]].index("double")
        page = read(known_client, f"/game/matches/jacoby/{session}?turn={turn}")
        assert (", by the Jacoby rule" in page.text) == is_jacoby
        position = game["turns"][turn]["position_id"]
        assert any(f"{position}?" in link and "jacoby=1" in link for link in page.links) == is_jacoby
        decision = known_client.get(f"/position/{position}.json?jacoby={int(is_jacoby)}").json()["cube"][0]
        loss: float = game["cube_losses"][turn]
        assert loss == pytest.approx(-decision["double_gain"], abs=1e-7)
        return loss

    assert 0 < loss_of_double(0, is_jacoby=True) < loss_of_double(1, is_jacoby=False)


def test_doubles_are_not_judged_without_a_met(known_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    message = "expected a match equity table, found none"
    monkeypatch.setattr(games, "met_of", Mock(side_effect=MissingTableError(message)))
    with open_client(create_app(bgdata.open_warehouse(known_root))) as client:
        assert f"Doubles, takes and passes are not judged: {message}" in read(client, f"{KNOWN_GAMES}/3").text
        game = client.get(f"{KNOWN_GAMES}/3.json").json()
        assert game["cube_losses"] == [None] * 5
        assert [error["is_cube"] for error in game["errors"]] == [False]
        text = read(client, f"{KNOWN_GAMES}?order=missed", 400).text
        assert "expected games whose doubles can be judged: " in text
