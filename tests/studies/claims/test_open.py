"""What stays open says what experiment would decide it and why that is not done here; and there is little of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import bgdata
from bgdata.kinds import all_kinds
from bgdata.store.checks import connect_tables, only_row
from bgdata.studies.claims.definitions import Claim, read_definitions
from bgdata.studies.claims.register import DECIDES, OBSTACLE, Judged, judge
from bgdata.studies.kinds.cube_studies import DATASET as STUDIES
from bgdata.studies.kinds.published_luck import DATASET as LUCK
from tests.studies.claims.test_register import HEAVY

PAGE = Path(__file__).parents[3] / "docs" / "research" / "claims.md"
MOST_OPEN = 25  # of published kind
LEAST_WORDS = 4
HEAVY_AND_OPEN = {"A2.dropped-largest", "A3.share-of-file", "A8.backgammon-rate"}
"""Claims that are answered from tables which take long to build, and known to be open."""
BY_OTHER_PLAYERS = ("A6.against-", "A6.statistics-", "A7.volatility-", "A9.length-", "A10.self-play-", "A11.start-")


def is_explained(claim: Claim) -> bool:
    """Whether both texts are there, say something, and say two things."""
    texts = {claim.experiment, claim.obstacle}
    return len(texts) == 2 and all(len(re.findall(r"[A-Za-z]{2,}", text)) >= LEAST_WORDS for text in texts)


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> list[Judged]:
    """Every claim that is quick to answer: from what comes with the package, from its record, or by a formula."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("warehouse"))
    tables = [warehouse.build(STUDIES.name, study) for study in STUDIES.defaults]
    tables += [warehouse.build(LUCK.name, LUCK.defaults[0])]
    named = {"/".join(table.folder.parts[-3:-1]): table for table in tables}
    here = (STUDIES.name, LUCK.name)
    chosen = [
        claim
        for claim in read_definitions()
        if claim.query.partition("(")[0] not in HEAVY and all(each.startswith(here) for each in needed(claim))
    ]
    with connect_tables(all_kinds(), tables) as connection:
        return list(judge(chosen, named, lambda query: only_row(connection, query)))


def needed(claim: Claim) -> tuple[str, ...]:
    """What an answer needs: what is on record, only what comes by default."""
    return claim.needs if claim.recorded else (*claim.needs, *claim.wants)


def test_open_claims_name_an_experiment(answered: list[Judged]) -> None:
    found = [each for each in answered if each.status == "open"]
    (total,) = re.findall(r"^\d+ claims: .* (\d+) open", PAGE.read_text(), re.MULTILINE)[:1]
    assert len({each.claim.claim for each in found} | HEAVY_AND_OPEN) == int(total)
    for each in found:
        assert is_explained(each.claim), each.claim.claim
        assert each.explanation.endswith(f"{DECIDES}{each.claim.experiment}. {OBSTACLE}{each.claim.obstacle}")


def test_claims_that_others_could_open_name_one_too() -> None:
    """Those that are open and need large tables, and those that hang on which player answers them."""
    claims = {claim.claim: claim for claim in read_definitions()}
    assert set(claims) > HEAVY_AND_OPEN
    for name, claim in claims.items():
        if name in HEAVY_AND_OPEN or (name.startswith(BY_OTHER_PLAYERS) and claim.query):
            assert is_explained(claim), name


@pytest.mark.parametrize(
    "texts", [("", ""), ("games", "time"), ("more games of both", "more games of both"), ("- - - -", "a b c d e")]
)
def test_empty_words_explain_nothing(texts: tuple[str, str]) -> None:
    claim = Claim("A1.one", "A1", "somebody", "a number", "1", experiment=texts[0], obstacle=texts[1])
    assert not is_explained(claim)


def test_few_published_figures_are_open(answered: list[Judged]) -> None:
    """Here, where all but those that need large tables are answered; and in the whole register, as its page has it."""
    here = {each.claim.claim for each in answered if each.status == "open" and each.claim.kind == "published"}
    heavy = {claim.claim for claim in read_definitions() if claim.kind == "published"} & HEAVY_AND_OPEN
    (row,) = re.findall(r"^published +\d+ +\d+ +\d+ +(\d+) +\d+$", PAGE.read_text(), re.MULTILINE)[:1]
    assert len(here | heavy) == int(row) <= MOST_OPEN
