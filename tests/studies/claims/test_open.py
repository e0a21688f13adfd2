"""Tests that open claims are few, and explain their experiment and obstacle."""

import re

import pytest

import bgdata
from bgdata.kinds import all_kinds
from bgdata.store.checks import connect_tables, only_row
from bgdata.studies.claims.definitions import Claim, read_definitions
from bgdata.studies.claims.register import DECIDES, OBSTACLE, JudgedClaim, judge
from bgdata.studies.kinds.cube_studies import DATASET as STUDIES
from bgdata.studies.kinds.published_luck import DATASET as LUCK
from tests.studies.claims.test_register import HEAVY

MIN_WORDS = 4
OPEN_CLAIMS = {"A3.smaller", "A10.parts-by-k-means"}  # words that no number can confirm
BY_OTHER_PLAYERS = (
    *("A6.against-", "A6.statistics-", "A7.volatility-", "A8.post-crawford-", "A8.gammon-rate-", "A8.backgammon-"),
    *("A9.length-", "A10.self-play-", "A11.start-"),
)


def is_explained(claim: Claim) -> bool:
    """Whether a claim gives an experiment and an obstacle, both meaningful and different."""
    texts = {claim.experiment, claim.obstacle}
    return len(texts) == 2 and all(len(re.findall(r"[A-Za-z]{2,}", text)) >= MIN_WORDS for text in texts)


@pytest.fixture(scope="module")
def answered_claims(tmp_path_factory: pytest.TempPathFactory) -> list[JudgedClaim]:
    """Every claim that is quick to answer, judged: by shipped data, by its record or by a formula."""
    warehouse = bgdata.open_warehouse(tmp_path_factory.mktemp("warehouse"))
    tables = [warehouse.build(STUDIES.name, study) for study in STUDIES.defaults]
    tables += [warehouse.build(LUCK.name, LUCK.defaults[0])]
    named = {"/".join(table.folder.parts[-3:-1]): table for table in tables}
    here = (STUDIES.name, LUCK.name)
    chosen = [
        claim
        for claim in read_definitions()
        if claim.query.partition("(")[0] not in HEAVY and all(each.startswith(here) for each in needed_variants(claim))
    ]
    with connect_tables(all_kinds(), tables) as connection:
        return list(judge(chosen, named, lambda query: only_row(connection, query)))


def needed_variants(claim: Claim) -> tuple[str, ...]:
    """The variants that an answer needs; a claim with a recorded answer needs only default variants."""
    return claim.needs if claim.recorded else (*claim.needs, *claim.wants)


def test_open_claims_name_an_experiment(answered_claims: list[JudgedClaim]) -> None:
    open_claims = {judged.claim.claim: judged for judged in answered_claims if judged.status == "open"}
    assert set(open_claims) == OPEN_CLAIMS
    for name, judged in open_claims.items():
        assert is_explained(judged.claim), name
        assert judged.explanation.endswith(f"{DECIDES}{judged.claim.experiment}. {OBSTACLE}{judged.claim.obstacle}")


def test_claims_that_disagree_have_an_explanation(answered_claims: list[JudgedClaim]) -> None:
    claims = [judged.claim for judged in answered_claims if judged.status == "disagrees"]
    assert claims
    for claim in claims:
        assert is_explained(claim), claim.claim
        assert len(claim.explanation.split()) > MIN_WORDS


def test_claims_answered_by_another_player_name_an_experiment() -> None:
    """Claims about a player whose weights are unpublished are answered by another player, and name an experiment."""
    for claim in read_definitions():
        if claim.claim.startswith(BY_OTHER_PLAYERS) and (claim.needs or claim.wants) and claim.source != "bgsage":
            assert is_explained(claim), claim.claim
            assert "ours is" in claim.explanation.lower(), claim.claim


@pytest.mark.parametrize(
    "texts", [("", ""), ("games", "time"), ("more games of both", "more games of both"), ("- - - -", "a b c d e")]
)
def test_empty_or_equal_texts_are_not_an_explanation(texts: tuple[str, str]) -> None:
    claim = Claim("A1.one", "A1", "somebody", "a number", "1", experiment=texts[0], obstacle=texts[1])
    assert not is_explained(claim)
