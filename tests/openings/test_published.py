"""What others say of first rolls: each source can be found, and says something possible."""

from __future__ import annotations

from bgdata.game.plays import parse_play
from bgdata.game.position import START
from bgdata.openings.kinds.openings import FIRST_ROLLS
from bgdata.openings.published import PublishedEquity, published_openings


def test_sources_are_named() -> None:
    sources = published_openings()
    assert len({source.name for source in sources}) == len(sources) >= 3
    for source in sources:
        assert source.source
        assert source.place.startswith("http")
        assert source.plays or source.equities


def test_plays_are_legal_and_written_as_ours_are() -> None:
    for source in published_openings():
        said = [(roll, play) for roll, plays in source.plays.items() for play in plays]
        for roll, text in said + [(each.roll, each.play) for each in source.equities]:
            assert roll in FIRST_ROLLS
            assert str(parse_play(text, START, roll)) == text


def test_an_equity_has_an_error() -> None:
    (stick,) = [source for source in published_openings() if source.name == "Stick 2006"]
    assert stick.equities[0] == PublishedEquity("51", "24/23 13/8", 0.0069, 0.0007)
    assert all(each.standard_error > 0 for source in published_openings() for each in source.equities)
