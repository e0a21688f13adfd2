"""gnubg's benchmark files: the published rows, every kind of line, every rule, round trips."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bgdata.errors import UsageError
from bgdata.formats.gnubg_benchmark import NO_SEED, Benchmark, format_gnubg_benchmark, parse_gnubg_benchmark
from bgdata.formats.lines import LineCounts
from bgdata.game.position import Position, format_key20, parse_key20
from tests.formats.samples import BENCHMARK_ROWS, SETTINGS, shared_file
from tests.game.strategies import boards
from tests.subtests import each

START_KEY, AFTER_42 = "OAHDPAABDAOAHDPAABDA", "JIGHPAABDAOAHDPAABDA"
# a group as the program writes it, with made-up numbers: seed, rollouts of both plays, decision, next group
GROUP = f"""\
r 1234567
#R {AFTER_42} 0.461121 0.117284 0.00617284 0.151235 0.00925926
#R OAHDOEABCBOAHDPAABDA 0.472532 0.123457 0.00617284 0.13966 0.00771605
m {START_KEY} 2 4 {AFTER_42} 0.114795 OAHDOEABCBOAHDPAABDA 0.0421133
r -9223372036854775807
o {AFTER_42} 0.461121 0.117284 0.00617284 0.151235 0.00925926
""".encode()


def written_text(benchmark: Benchmark) -> bytes:
    return b"".join(format_gnubg_benchmark(benchmark))


def test_published_rows_are_read() -> None:
    benchmark = parse_gnubg_benchmark(BENCHMARK_ROWS)
    assert benchmark.counts == LineCounts(6, 6, 0, 0)
    decisions, plays = benchmark.decisions, benchmark.plays
    assert [Position(board) for board in decisions.boards[:2]] == [
        parse_key20(START_KEY),
        parse_key20("LGGNADALAANLOFAAAADM"),
    ]
    assert decisions.dice.tolist() == [[2, 4], [3, 6], [6, 1], [3, 6], [1, 4], [5, 2]]
    assert decisions.n_plays.tolist() == [5, 2, 2, 4, 7, 2]
    assert decisions.first_plays.tolist() == [0, 5, 7, 9, 13, 20]
    assert decisions.seeds.tolist() == [NO_SEED] * 6
    assert plays.decisions.tolist() == np.repeat(np.arange(6), decisions.n_plays).tolist()
    assert plays.ranks[:7].tolist() == [0, 1, 2, 3, 4, 0, 1]
    assert plays.losses[:5].tolist() == [0, 0.0421133, 0.0659233, 0.078762, 0.129732]
    assert plays.equities[:2].tolist() == [0.114795, 0.114795 - 0.0421133]
    assert format_key20(Position(plays.boards[0])) == AFTER_42
    assert plays.rollouts.tolist() == [-1] * 22
    assert written_text(benchmark) == BENCHMARK_ROWS


def test_published_sample_file_is_read() -> None:
    rows = shared_file("gnubg", "benchmark_samples.bm").read_bytes().splitlines(keepends=True)
    text = b"".join(row.split(b" ", 2)[2] for row in rows)  # after the name of the file and the line number
    benchmark = parse_gnubg_benchmark(text)
    assert benchmark.counts == LineCounts(43, 43, 0, 0)
    assert len(benchmark.plays) == 226
    assert written_text(benchmark) == text


def test_rows_of_a_group_are_linked() -> None:
    benchmark = parse_gnubg_benchmark(SETTINGS + b"# made up\n" + GROUP)
    assert benchmark.counts == LineCounts(8, 7, 1, 0)
    assert benchmark.settings == ((1, SETTINGS.decode().strip()),)
    assert benchmark.comments == ((2, "# made up"),)
    assert benchmark.seeds.seeds.tolist() == [1234567, NO_SEED + 1]
    assert benchmark.decisions.seeds.tolist() == [1234567]
    assert benchmark.evaluations.seeds.tolist() == [NO_SEED + 1]
    assert benchmark.evaluations.kinds.tolist() == [b"o"]
    assert benchmark.rollouts.decisions.tolist() == [0, 0]
    assert benchmark.plays.rollouts.tolist() == [0, 1]
    opponent_equities = benchmark.rollouts.chances @ [2, 1, 1, -1, -1] - 1
    assert benchmark.plays.equities == pytest.approx(-opponent_equities[benchmark.plays.rollouts], abs=2e-6)
    assert written_text(benchmark) == SETTINGS + b"# made up\n" + GROUP


def test_seed_is_used_once() -> None:
    decision = GROUP.splitlines()[3].decode()
    rollout = f"o {AFTER_42} 0.4 0 0 0 0"
    evaluation = f"e {AFTER_42} 0.4 0 0 0 0"
    lines = [decision, "r 1", decision, decision, "r 2", "r 3", evaluation, rollout, rollout, "r 4", "m bad", decision]
    text = "".join(f"{line}\n" for line in lines)
    benchmark = parse_gnubg_benchmark(text.encode())
    assert benchmark.decisions.seeds.tolist() == [NO_SEED, 1, NO_SEED, NO_SEED]
    assert benchmark.evaluations.kinds.tolist() == [b"e", b"o", b"o"]
    assert benchmark.evaluations.seeds.tolist() == [NO_SEED, 3, NO_SEED]
    assert written_text(benchmark) == text.replace("m bad\n", "").encode()


def test_rollouts_before_a_bad_decision_have_none() -> None:
    rollout, decision = f"#R {AFTER_42} 0.4 0 0 0 0\n", GROUP.splitlines()[3].decode() + "\n"
    benchmark = parse_gnubg_benchmark((rollout + "m bad\n" + rollout + decision + decision + rollout).encode())
    assert benchmark.rollouts.decisions.tolist() == [-1, 0, -1]
    assert benchmark.plays.rollouts.tolist() == [1, -1, -1, -1]


def test_all_other_kinds_of_lines_are_read() -> None:
    text = f"""\
c {START_KEY} 51.25 49.875 ND
r 7
c {START_KEY} 61 63 D/T
b {START_KEY} 3 1 {AFTER_42} 0.5 0.125 0 0.1 0
O {START_KEY} 0.5 0 0 0 0
#E something
#Resumed
#
s version 1.93
""".encode()
    benchmark = parse_gnubg_benchmark(text)
    assert benchmark.counts == LineCounts(9, 6, 3, 0)
    assert benchmark.cube_rollouts.mwc_percents.tolist() == [[51.25, 49.875], [61, 63]]
    assert benchmark.cube_rollouts.actions.tolist() == [b"ND", b"D/T"]
    assert benchmark.cube_rollouts.seeds.tolist() == [NO_SEED, 7]
    assert benchmark.best_plays.dice.tolist() == [[3, 1]]
    assert benchmark.best_plays.chances.tolist() == [[0.5, 0.125, 0, 0.1, 0]]
    assert [comment.text for comment in benchmark.comments] == ["#E something", "#Resumed", "#"]
    assert written_text(benchmark) == text


KINDS = "expected a line of m, s, #R, o, e, O, c, b, r or a comment"
BAD_LINES = {
    "x": KINDS,
    "mm": KINDS,
    "M OAHD": KINDS,
    "m\0 OAHD": KINDS,
    "Position": KINDS,
    f"m {START_KEY} 2 4": "expected 4 fields and two for each play, got 4",
    f"m {START_KEY} 2 4 {AFTER_42}": "expected 4 fields and two for each play, got 5",
    f"m {START_KEY} 2 4 {AFTER_42} 0.1 {START_KEY}": "expected 4 fields and two for each play, got 7",
    f"m {START_KEY}A 2 4 {AFTER_42} 0.1": "expected a key of 20 letters",
    f"m {START_KEY} 2 4 0.1 {AFTER_42}": "expected a key of 20 letters",
    f"m {START_KEY[:-1]}Z 2 4 {AFTER_42} 0.1": "expected only the letters of the format in the 20-letter key",
    f"m {START_KEY} 2 7 {AFTER_42} 0.1": "expected dice from 1 to 6",
    f"m {START_KEY} 0 4 {AFTER_42} 0.1": "expected dice from 1 to 6",
    f"m {START_KEY} 2 44 {AFTER_42} 0.1": "expected dice from 1 to 6",
    f"m {START_KEY} 2 4 {AFTER_42} nan": "expected a number as equity",
    f"m {START_KEY} 2 4 {AFTER_42} 0.1 {START_KEY} x": "expected a number as loss",
    f"m {START_KEY} 2 4 {AFTER_42} 0.1 {START_KEY} -0.1": "expected losses of at least 0",
    f"m {START_KEY} 2 4 {AFTER_42} 0.1 {START_KEY} 0.2 LGGNADALAANLOFAAAADM 0.1": "expected ascending losses",
    f"m {START_KEY} 2 4 {AFTER_42} 3.1": "expected equities from -3 to 3",
    f"m {START_KEY} 2 4 {AFTER_42} -2 {START_KEY} 1.1": "expected equities from -3 to 3",
    f"m {START_KEY} 2 4 {AFTER_42} 0.1 {START_KEY} 0.2 {AFTER_42} 0.3": "expected every play once",
    f"#R {START_KEY} 0.5 0 0 0": "expected 7 fields, got 6",
    "#R": "expected 7 fields, got 1",
    f"#R {START_KEY} 0.5 0 0 0 NaN": "expected a number as lose_backgammon",
    f"#R {START_KEY} 1.06 0 0 0 0": "expected chances from 0 to 1",
    f"o {START_KEY} 0.5 0.56 0 0 0": "expected win_gammon at most win",
    "e bad 0.5 0 0 0 0": "expected a key of 20 letters",
    f"c {START_KEY} 50 50 DT": "expected one of TG, D/T, D/D, ND as cube action",
    f"c {START_KEY} 50 50 ND\0": "expected one of TG, D/T, D/D, ND as cube action",
    f"c {START_KEY} 50 101 ND": "expected percentages from 0 to 100",
    f"c {START_KEY} 50 x ND": "expected a number as double-take percentage",
    f"b {START_KEY} 3 7 {START_KEY} 0.5 0 0 0 0": "expected dice from 1 to 6",
    f"b {START_KEY} 3 1 bad 0.5 0 0 0 0": "expected a key of 20 letters",
    "r 1.5": "expected an integer of at most 64 bits as seed",
    "r 1e3": "expected an integer of at most 64 bits as seed",
    "r 9223372036854775808": "expected an integer of at most 64 bits as seed",
    "r 99999999999999999999999999": "expected an integer of at most 64 bits as seed",
    "r x": "expected an integer of at most 64 bits as seed",
    "r": "expected 2 fields, got 1",
    "s version": "expected pairs of a name and a value",
}


@each(("line", "reason"), BAD_LINES.items())
def test_invalid_line_is_refused_with_its_reason(line: str, reason: str) -> None:
    benchmark = parse_gnubg_benchmark(GROUP + line.encode() + b"\n" + GROUP)
    (bad,) = benchmark.rejects
    assert (bad.line, bad.reason) == (7, reason)
    assert benchmark.counts == LineCounts(13, 12, 0, 1)
    assert written_text(benchmark) == GROUP * 2


def test_only_play_has_no_loss() -> None:
    benchmark = parse_gnubg_benchmark(f"m {START_KEY} 2 4 {AFTER_42} 0.1\n".encode())
    assert benchmark.plays.losses.tolist() == [0]
    assert benchmark.plays.equities.tolist() == [0.1]


def test_illegal_play_removes_its_decision() -> None:
    """The other plays of the decision and the links to its rollouts are removed too; the original is unchanged."""
    benchmark = parse_gnubg_benchmark(GROUP + GROUP.replace(b"2 4", b"6 4") + GROUP)
    is_illegal = np.zeros(6, np.bool_)
    is_illegal[3] = True
    remaining = benchmark.quarantine("plays", is_illegal, "expected legal plays")
    assert remaining.counts == LineCounts(lines=18, rows=17, comments=0, quarantined=1)
    assert [(bad.line, bad.reason) for bad in remaining.rejects] == [(10, "expected legal plays")]
    assert remaining.decisions.lines.tolist() == [4, 16]
    assert remaining.decisions.first_plays.tolist() == [0, 2]
    assert remaining.plays.decisions.tolist() == [0, 0, 1, 1]
    assert remaining.rollouts.decisions.tolist() == [0, 0, -1, -1, 1, 1]
    assert remaining.plays.rollouts.tolist() == [0, 1, 4, 5]
    assert benchmark.counts == LineCounts(lines=18, rows=18, comments=0, quarantined=0)
    again = remaining.quarantine("rollouts", np.arange(6) == 0, "expected the equity of the decision")
    assert again.plays.rollouts.tolist() == [-1, 0, 3, 4]
    assert again.rollouts.decisions.tolist() == [0, -1, -1, 1, 1]


def test_quarantined_rollouts_are_unlinked_from_plays() -> None:
    benchmark = parse_gnubg_benchmark(GROUP + GROUP)
    remaining = benchmark.quarantine("rollouts", np.arange(4) == 0, "expected the equity of the decision")
    assert remaining.plays.rollouts.tolist() == [-1, 0, 1, 2]
    assert remaining.rollouts.decisions.tolist() == [0, 1, 1]
    assert len(remaining.quarantine("evaluations", np.ones(2, np.bool_), "expected none").evaluations) == 0


def test_quarantine_needs_a_mask_for_every_row() -> None:
    with pytest.raises(UsageError, match=r"expected bool\[2\], got bool\[1\]"):
        parse_gnubg_benchmark(GROUP).quarantine("plays", np.zeros(1, np.bool_), "expected legal plays")


@pytest.mark.parametrize("data", [b"", b"\n\n", b"# only\n", b"\xff\0\n", b"m\n"])
def test_files_without_rows_give_none(data: bytes) -> None:
    benchmark = parse_gnubg_benchmark(data)
    assert len(benchmark.decisions) == len(benchmark.plays) == benchmark.counts.rows == 0
    assert benchmark.decisions.boards.shape == (0, 26)


keys = boards().map(lambda board: format_key20(Position(board)))
losses = st.lists(st.floats(0, 0.9), max_size=6).map(sorted)
formats = st.sampled_from(["{:.6g}", "{:.7f}", "{!r}"])


@st.composite
def decision_lines(draw: st.DrawFn) -> str:
    """A canonical `m` line with numbers of the same form."""
    form = draw(formats)
    values = [draw(st.floats(-2, 3)), *draw(losses)]
    plays = draw(st.lists(keys, min_size=len(values), max_size=len(values), unique=True))
    numbers = map(form.format, values)
    pairs = " ".join(f"{key} {number}" for key, number in zip(plays, numbers, strict=True))
    return f"m {draw(keys)} {draw(st.integers(1, 6))} {draw(st.integers(1, 6))} {pairs}\n"


@given(st.lists(decision_lines(), max_size=8).map("".join))
def test_random_decisions_round_trip(text: str) -> None:
    benchmark = parse_gnubg_benchmark(text.encode())
    assert benchmark.rejects == []
    again = parse_gnubg_benchmark(written_text(benchmark))
    for table, same_table in ((benchmark.decisions, again.decisions), (benchmark.plays, again.plays)):
        for name, array in vars(table).items():
            assert (array == getattr(same_table, name)).all(), name
    if "e-" not in text:  # repr and %.6g of small numbers may differ in the 16th digit
        assert written_text(benchmark).decode() == text
