"""Commands on a warehouse at an address answer as on the same one in a folder; a large table is read row by row."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import bgdata
from bgdata.bearoff.kinds import bearoff_two_sided
from bgdata.bearoff.kinds.bearoff_one_sided import RaceParameters
from bgdata.bearoff.kinds.bearoff_two_sided import ROW_HASHES, TwoSidedParameters
from bgdata.bearoff.remote import RemoteTwoSidedTable
from bgdata.cli import main
from bgdata.cli.grammar import READING, VARIABLE
from bgdata.errors import DigestMismatchError, MissingTableError, TooLargeError
from bgdata.store import arrays, job, remote
from bgdata.store.places import Part, Store, open_place
from bgdata.store.progress import Silence
from bgdata.store.transfer import Transfer
from bgdata.warehouse import RemoteWarehouse, Warehouse
from tests.command_line import POSITION, error_of, output_of, position_id, run
from tests.subtests import Subtests, each

LARGE = TwoSidedParameters(4, 5)


@pytest.fixture(name="root", scope="module")
def _root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse with small tables, and one that is large: in no Parquet file, with hashes of its rows."""
    root = tmp_path_factory.mktemp("near") / "warehouse"
    warehouse = bgdata.open_warehouse(root)
    for kind in ("bearoff_one_sided", "bearoff_gammon"):
        warehouse.build(kind, RaceParameters(3))
    warehouse.build("bearoff_two_sided", TwoSidedParameters(3, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bearoff_two_sided, "PARQUET_PAIRS", 0)
        patch.setattr(bearoff_two_sided, "UNROUNDED_PAIRS", 0)
        patch.setattr(bearoff_two_sided, "MAX_WINDOW_BYTES", 0)
        patch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
        warehouse.build("bearoff_two_sided", LARGE)
    return root


@pytest.fixture(name="address")
def _address(root: Path, memory_store: str, remote_cache: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a store in memory that has the warehouse at `root`. Tables of more than 10,000 pairs count as
    large."""
    monkeypatch.setattr(bearoff_two_sided, "PARQUET_PAIRS", 10_000)
    monkeypatch.setattr(bearoff_two_sided, "UNROUNDED_PAIRS", 10_000)
    Transfer(Silence()).push(bgdata.open_warehouse(root), open_place(memory_store))
    assert not remote_cache.exists()
    return memory_store


@pytest.fixture(name="read_bytes")
def _read_bytes(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Bytes that a store gave, by the name of the file."""
    counts: dict[str, int] = {}
    original = Store.part

    def part(self: Store, name: str, begin: int, length: int | None) -> Part:
        answer = original(self, name, begin, length)
        file = name.rpartition("/")[2]
        counts[file] = counts.get(file, 0) + len(answer.data)
        return answer

    monkeypatch.setattr(Store, "part", part)
    return counts


READING_COMMANDS = [
    ("list",),
    ("list", "bearoff_two_sided", "--format", "json"),
    ("explain", "bearoff_two_sided"),
    ("explain", "bearoff_two_sided_3x3"),
    ("explain", "cube_decisions", "--format", "json"),
    ("explain", "best_cube_action"),
    ("query", "select count(*), sum(cubeless) from bearoff_two_sided"),
    ("query", "from versions order by all", "--format", "csv"),
    ("query", "select avg(mean_rolls) from BEAROFF_ONE_SIDED_3x15", "--format", "json"),
    ("query", "select centered from bearoff_two_sided_4x5 where on_roll_index = 17 and opponent_index = 44"),
    ("query", "select 1"),
    ("probe", POSITION),
    ("probe", POSITION, "--format", "json"),
    ("show", POSITION),
    ("eval", POSITION, "--format", "json"),
    ("hint", POSITION, "31"),
    ("cube", POSITION, "--format", "csv"),
]


def test_commands_print_the_same_at_an_address(root: Path, address: str) -> None:
    with Subtests() as subtests:
        for words in READING_COMMANDS:
            with subtests.test(" ".join(words)):
                assert output_at(address, *words) == output_of(root, *words)
    assert {words[0] for words in READING_COMMANDS} == set(READING) - {"completion"}


def run_at(address: str, *words: str) -> Result:
    """Run a command on a warehouse at an address, which is not a path."""
    return CliRunner().invoke(main, [*words, "--warehouse", address] if address else [*words])


def output_at(address: str, *words: str) -> str:
    """The standard output of a command, which must succeed."""
    result = run_at(address, *words)
    assert (result.exit_code, result.exception) == (0, None), result.output or repr(result.exception)
    return result.stdout


def test_opening_a_large_table_reads_headers_and_row_hashes(
    root: Path, address: str, read_bytes: dict[str, int]
) -> None:
    local = bgdata.open_two_sided(root, 4, 5)
    remote_table = bgdata.open_two_sided(address, 4, 5)
    assert isinstance(remote_table, RemoteTwoSidedTable)
    assert repr(remote_table).startswith("RemoteTwoSidedTable(bearoff_two_sided/4x5/")
    assert read_bytes == {
        "current": 12,
        "manifest.json": (local.table.folder / "manifest.json").stat().st_size,
        f"{ROW_HASHES}.npy": (local.table.folder / f"{ROW_HASHES}.npy").stat().st_size,
        "equities.npy": remote.HEADER_BYTES,
    }


def test_large_table_is_probed_by_rows(root: Path, address: str, read_bytes: dict[str, int]) -> None:
    local = bgdata.open_two_sided(root, 4, 5)
    remote_table = bgdata.open_two_sided(address, 4, 5)
    row_bytes = local.stored[0].nbytes
    assert row_bytes * 100 < local.stored.nbytes
    read_bytes.clear()
    assert remote_table.probe(33, 7) == local.probe(33, 7)
    assert remote_table.probe(33, 9) == local.probe(33, 9)
    assert (remote_table.probe_many([3, 9, 3], [1, 2, 3]) == local.probe_many([3, 9, 3], [1, 2, 3])).all()
    assert read_bytes == {"equities.npy": 3 * row_bytes}  # rows 33, 3 and 9, once each


def test_rows_are_kept_on_disk_and_checked(root: Path, address: str, read_bytes: dict[str, int]) -> None:
    expected = bgdata.open_two_sided(root, 4, 5).probe(33, 9)
    first = bgdata.open_two_sided(address, 4, 5)
    assert first.probe(33, 9) == expected
    second = bgdata.open_two_sided(address, 4, 5)
    read_bytes.clear()
    assert second.probe(33, 9) == expected
    assert read_bytes == {}
    (path,) = first.table.folder.glob("equities.rows/*33")
    path.write_bytes(b"damaged")
    third = bgdata.open_two_sided(address, 4, 5)
    read_bytes.clear()
    assert third.probe(33, 9) == expected
    assert set(read_bytes) == {"equities.npy"}


def test_commands_read_rows_of_a_large_table(address: str, read_bytes: dict[str, int], root: Path) -> None:
    """They read less than a tenth of the table."""
    table_bytes = bgdata.open_two_sided(root, 4, 5).stored.nbytes
    position = position_id([0, 1, 2, 1], [0, 0, 0, 2])  # which the smaller tables do not have
    assert output_at(address, "probe", position) == output_of(root, "probe", position)
    assert 0 < read_bytes["equities.npy"] < table_bytes / 10
    read_bytes.clear()
    output_at(address, "query", "from bearoff_two_sided_4x5 where on_roll_index = 90 limit 5")
    assert 0 < read_bytes["equities.npy"] < table_bytes / 10
    assert "table.parquet" not in read_bytes


def test_damaged_row_is_named(address: str) -> None:
    """A row that does not match its hash gives an error with its number; other rows can be read."""
    table = bgdata.open_two_sided(address, 4, 5)
    store = open_place(address)
    assert isinstance(store, Store)
    name = f"{table.table.name}/equities.npy"
    data = bytearray(store.read(name))
    data[-1] ^= 1
    store.write(name, bytes(data))
    last = len(table.table.array(ROW_HASHES)) - 1
    assert table.probe(0, 0)
    with pytest.raises(DigestMismatchError, match=rf"expected row {last} of memory://.*equities.npy to match its hash"):
        table.probe(last, 0)
    store.write(name, bytes(data[:-8]))
    with pytest.raises(Exception, match=r"equities.npy not to change after it was opened, found it changed"):
        table.probe(last, 1)


def test_large_table_is_not_fetched_whole(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "LARGE", 1000)
    result = run_at(address, "eval", POSITION)
    assert error_of(result, 1).startswith("expected bearoff_two_sided/4x5/")
    assert "try: bgdata pull memory://shop/ware bearoff_two_sided/4x5/" in result.stderr
    table = bgdata.open_warehouse(address).open("bearoff_two_sided", "4x5")
    with pytest.raises(TooLargeError):
        table.array("equities")
    assert arrays.LARGE > 1000


def test_functions_open_tables_at_an_address(root: Path, address: str) -> None:
    assert bgdata.open_one_sided(address, 3).probe_mean_rolls(9) == bgdata.open_one_sided(root, 3).probe_mean_rolls(9)
    assert len(bgdata.open_gammon(address, 3)) == len(bgdata.open_gammon(root, 3))
    assert bgdata.open_two_sided(address, 3, 3).probe(5, 9) == bgdata.open_two_sided(root, 3, 3).probe(5, 9)
    with pytest.raises(MissingTableError, match=r"no bearoff_two_sided/6x15 in memory://shop/ware \(have: 3x3, 4x5\)"):
        bgdata.open_two_sided(address, 6, 15)


def test_address_of_a_folder_opens_the_folder(root: Path, address: str) -> None:
    assert isinstance(bgdata.open_warehouse(address), RemoteWarehouse)
    warehouse = bgdata.open_warehouse(f"file://{root}")
    assert type(warehouse) is Warehouse
    assert warehouse.root == root


@each("words", ["build", "use a/b/r1-00000000", "gc", "verify", "serve", "met build", "lock"])
def test_commands_that_write_are_refused_at_an_address(address: str, words: str) -> None:
    """The error says which commands to use instead."""
    error = error_of(run_at(address, *words.split()), 2)
    next_step = f"try: bgdata pull {address}, and bgdata push {address} afterwards"
    assert error == f"expected a warehouse in a folder for bgdata {words.split()[0]}, got {address}; {next_step}"


def test_address_may_be_in_a_variable(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, address)
    assert output_at("", "list") == output_at(address, "list")


@each(
    ("address", "words", "code", "message"),
    [
        ("nope://user:secret@x/y", ["list"], 2, "expected an address of a scheme that is known"),
        ("s3://key:secret@x/y", ["list"], 2, "expected keys of S3 in the environment"),
        ("http://user:secret@127.0.0.1:1/x", ["list"], 1, "cannot read http://127.0.0.1:1/x/index.json: "),
        ("memory://nothing/here", ["list", "bearoff_two_sided/6x6"], 1,
         "no bearoff_two_sided/6x6 in memory://nothing/here (have: none)"),
    ],
)  # fmt: skip
def test_wrong_addresses_give_a_one_line_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, words: list[str], code: int, message: str
) -> None:
    """The error has no password in it, whether the address is given as an option or a variable."""
    monkeypatch.chdir(tmp_path)
    error = error_of(run_at(address, *words), code)
    assert error.startswith(message)
    assert "secret" not in error
    monkeypatch.setenv(VARIABLE, address)
    assert error_of(run_at("", *words), code) == error
    assert list(tmp_path.iterdir()) == []


def test_two_warehouses_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    error = error_of(run(Path("a"), "list", "--warehouse", "s3://u:secret@b/c"), 2)
    assert error.startswith("expected one --warehouse, got a and s3://b/c")
