"""Large two-sided tables: solved through files, columns in turn, rows checked one by one. Small tables count as large
here."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import bgdata
from bgdata.bearoff import two_sided
from bgdata.bearoff.kinds import bearoff_two_sided
from bgdata.bearoff.kinds.bearoff_two_sided import ROW_HASHES, TwoSidedParameters
from bgdata.bearoff.kinds.shared import two_sided_parts
from bgdata.bearoff.remote import RemoteTwoSidedTable
from bgdata.bearoff.tables import TwoSidedTable
from bgdata.errors import DigestMismatchError, DownloadError, MissingTableError, StorageError, UsageError
from bgdata.kernel import threads
from bgdata.store import job
from bgdata.store.progress import Silence
from bgdata.store.table import Table
from bgdata.store.verify import Status, check_values, verify
from bgdata.warehouse import Warehouse
from bgdata.warehouse.commands.verify import repair_version
from tests.store.toy import Notes

SIZE = TwoSidedParameters(4, 5)
KIND = "bearoff_two_sided"


@pytest.fixture(autouse=True)
def _make_every_table_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bearoff_two_sided, "PARQUET_PAIRS", 0)
    monkeypatch.setattr(bearoff_two_sided, "UNROUNDED_PAIRS", 0)
    monkeypatch.setattr(bearoff_two_sided, "MAX_WINDOW_BYTES", 0)
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(two_sided, "KEPT_BYTES", 0)
    monkeypatch.setattr(two_sided, "CALL_PAIRS", 500)


@pytest.fixture(name="warehouse")
def _warehouse(memory_path: Path) -> Warehouse:
    return bgdata.open_warehouse(memory_path / "large")


@pytest.fixture(name="table")
def _table(warehouse: Warehouse) -> Table:
    return warehouse.build(KIND, SIZE)


def problems(warehouse: Warehouse, table: Table) -> list[tuple[str, str]]:
    """The failed checks of `verify` and what they found."""
    findings = verify(warehouse, [table], seed=1, progress=Silence())
    return [(finding.check, finding.problem) for finding in findings if finding.status is Status.FAILED]


def test_values_match_a_table_solved_in_memory(
    memory_path: Path, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(SIZE.column_groups) == 2
    assert {path.name for path in table.folder.iterdir()} == {"manifest.json", "equities.npy", f"{ROW_HASHES}.npy"}
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 30.0)
    monkeypatch.setattr(two_sided, "KEPT_BYTES", 1 << 30)
    solved_in_memory = bgdata.open_warehouse(memory_path / "memory").build(KIND, SIZE)
    assert solved_in_memory.manifest.digest == table.manifest.digest
    assert solved_in_memory.array("equities").tobytes() == table.array("equities").tobytes()
    for index, row in enumerate(table.array("equities")):
        assert sha256(row.tobytes()).digest() == table.array(ROW_HASHES)[index].tobytes()


def test_one_thread_gives_the_same_version(memory_path: Path, table: Table) -> None:
    with threads(1):
        assert bgdata.open_warehouse(memory_path / "one").build(KIND, SIZE).name == table.name


@pytest.mark.parametrize("size", [TwoSidedParameters(2, 15), TwoSidedParameters(1, 15)], ids=["2x15", "1x15"])
def test_gammons_count_in_large_tables(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, size: TwoSidedParameters
) -> None:
    solved_in_parts = bgdata.open_warehouse(memory_path / "parts").build(KIND, size)
    monkeypatch.setattr(job, "CHECKPOINT_SECONDS", 30.0)
    assert bgdata.open_warehouse(memory_path / "memory").build(KIND, size).name == solved_in_parts.name
    assert solved_in_parts.array("equities").max() == 65535


def test_smaller_table_is_a_prefix(warehouse: Warehouse, table: Table) -> None:
    smaller = warehouse.build(KIND, TwoSidedParameters(4, 4)).array("equities")
    assert (table.array("equities")[: len(smaller), : len(smaller)] == smaller).all()


def flip_bit(path: Path, offset: int) -> None:
    """Flip a bit of a byte of a file, in a new copy of the file."""
    data = bytearray(path.read_bytes())
    data[offset] ^= 1
    path.unlink()
    path.write_bytes(data)


@contextmanager
def parts_that_fail(monkeypatch: pytest.MonkeyPatch, name: str, after: int, error: BaseException) -> Iterator[None]:
    """Inside, a method of Parts fails after `after` calls."""
    n_calls = 0
    method = getattr(two_sided_parts.Parts, name)

    def fail(self: two_sided_parts.Parts, *arguments: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        if n_calls > after:
            raise error
        return method(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(two_sided_parts.Parts, name, fail)
        yield


@pytest.mark.parametrize("name", ["put", "seal", "take", "drop"])
@pytest.mark.parametrize("after", [0, 1, 7, 12])
def test_stopped_build_resumes_after_its_last_batch(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, table: Table, name: str, after: int
) -> None:
    warehouse = bgdata.open_warehouse(memory_path / f"{name}-{after}")
    with parts_that_fail(monkeypatch, name, after, KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
        warehouse.build(KIND, SIZE)
    checkpoints = list(warehouse.staging.glob("*/checkpoint-*"))
    notes = Notes()
    assert warehouse.build(KIND, SIZE, progress=notes).name == table.name
    assert any("going on with" in text for text in notes.texts) is bool(checkpoints)
    if name in ("take", "drop"):
        assert checkpoints
    assert problems(warehouse, warehouse.open(KIND, "4x5")) == []


def test_full_disk_is_reported_and_build_resumes(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, table: Table
) -> None:
    warehouse = bgdata.open_warehouse(memory_path / "full")
    write_all = two_sided_parts._write_all
    n_writes = 0

    def write_until_full(*arguments: Any) -> None:
        nonlocal n_writes
        n_writes += 1
        if n_writes > 300:
            raise OSError(errno.ENOSPC, "No space left on device")
        write_all(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(two_sided_parts, "_write_all", write_until_full)
        with pytest.raises(StorageError, match="disk is full; free some space"):
            warehouse.build(KIND, SIZE)
    notes = Notes()
    assert warehouse.build(KIND, SIZE, progress=notes).name == table.name
    assert "going on with" in notes.texts[0]


@pytest.mark.parametrize("pattern", ["checkpoint-*/values", "checkpoint-*/state.json", "checkpoint.layers/0-9"])
@pytest.mark.parametrize("is_missing", [False, True])
def test_damaged_and_missing_parts_are_rebuilt(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, table: Table, pattern: str, is_missing: bool
) -> None:
    """A build resumes after damage to the last file, and after the loss of the first one, which later ones need."""
    warehouse = bgdata.open_warehouse(memory_path / "damaged")
    with parts_that_fail(monkeypatch, "seal", 9, KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
        warehouse.build(KIND, SIZE)
    paths = sorted(warehouse.staging.glob(f"*/{pattern}"))
    if is_missing:
        paths[0].unlink()
    else:
        flip_bit(paths[-1], paths[-1].stat().st_size // 3)
    notes = Notes()
    assert warehouse.build(KIND, SIZE, progress=notes).name == table.name
    assert any("damaged" in text for text in notes.texts)


@pytest.mark.parametrize("parquet_pairs", [0, 1 << 40])
def test_rows_changed_before_resuming_are_detected(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, table: Table, parquet_pairs: int
) -> None:
    """Rows that changed before a build resumes are detected, also in a table that stores no hashes of rows."""
    monkeypatch.setattr(bearoff_two_sided, "PARQUET_PAIRS", parquet_pairs)
    warehouse = bgdata.open_warehouse(memory_path / "changed")
    with parts_that_fail(monkeypatch, "drop", 25, KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
        warehouse.build(KIND, SIZE)
    (path,) = warehouse.staging.glob("*/equities.npy")
    flip_bit(path, table.array("equities")[1].nbytes + 200)  # the row of one checker on the ace point
    with pytest.raises(DigestMismatchError, match="found 1 changed; run the same command to start over"):
        warehouse.build(KIND, SIZE)
    rebuilt = warehouse.build(KIND, SIZE)
    assert (rebuilt.array("equities") == table.array("equities")).all()
    assert (rebuilt.folder / f"{ROW_HASHES}.npy").exists() == (parquet_pairs == 0)


def equity_bytes(table: Table) -> NDArray[np.uint8]:
    """The bytes of the equities file, as an array that may be changed."""
    return np.frombuffer((table.folder / "equities.npy").read_bytes(), np.uint8).copy()


def replace_equities(table: Table, data: NDArray[np.uint8]) -> Table:
    path = table.folder / "equities.npy"
    path.unlink()
    path.write_bytes(data.tobytes())
    return Table(table.folder)


@pytest.mark.parametrize(
    ("damage", "n_rows"),
    [("two changed bytes", 2), ("cut off", 3), ("changed first row", 1)],
)
def test_damaged_rows_are_repaired(
    warehouse: Warehouse, table: Table, damage: str, n_rows: int, capsys: pytest.CaptureFixture[str]
) -> None:
    good_bytes = equity_bytes(table)
    row_bytes = table.array("equities")[0].nbytes
    bad_bytes = good_bytes.copy()
    if damage == "two changed bytes":
        bad_bytes[[-3 * row_bytes - 5, -60 * row_bytes - 9]] ^= 4
    elif damage == "cut off":
        bad_bytes = bad_bytes[: -2 * row_bytes - 7]
    else:
        bad_bytes[200] ^= 1
    table = replace_equities(table, bad_bytes)
    assert problems(warehouse, table) != []
    repair_version(warehouse, table)
    assert capsys.readouterr().err == f"repaired {table.name}: {n_rows} rows computed again\n"
    assert (equity_bytes(table) == good_bytes).all()
    assert problems(warehouse, Table(table.folder)) == []


def test_damaged_row_is_named(table: Table) -> None:
    """`verify` names a damaged row even if the hash of the file was changed with it."""
    flip_bit(table.folder / "equities.npy", -5)
    last_row = len(table.array("equities")) - 1
    with pytest.raises(DigestMismatchError, match=rf"1 damaged: {last_row}; try: bgdata verify --repair"):
        check_values(Table(table.folder))


def test_damaged_hashes_are_rebuilt(warehouse: Warehouse, table: Table, capsys: pytest.CaptureFixture[str]) -> None:
    flip_bit(table.folder / f"{ROW_HASHES}.npy", -5)
    repair_version(warehouse, Table(table.folder))
    assert "the damaged files are in" in capsys.readouterr().err
    assert problems(warehouse, warehouse.open(KIND, "4x5")) == []


def test_sql_looks_up_pairs(warehouse: Warehouse, table: Table) -> None:
    reader = TwoSidedTable(table)
    with warehouse.connect() as connection:
        query = "select cubeless, owned, centered, opponent_owned from bearoff_two_sided_4x5"
        (pair,) = connection.sql(f"{query} where on_roll_index = 17 and opponent_index = 44").fetchall()
        ((count, mean),) = connection.sql("select count(*), avg(centered) from bearoff_two_sided_4x5").fetchall()
        assert connection.sql("select count(*) from bearoff_two_sided").fetchall() == [(0,)]
    assert pair == pytest.approx(reader.probe(17, 44))
    equities = reader.decode(table.array("equities"))
    assert count == len(equities) ** 2
    assert mean == pytest.approx(equities[:, :, 2].mean(), abs=1e-6)


class RangeHandler(SimpleHTTPRequestHandler):
    """Serves files with range requests, and counts the bytes of bodies in `bytes_sent`."""

    bytes_sent = 0
    supports_ranges = True

    def log_message(self, *_arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        data = path.read_bytes()
        requested = self.headers.get("Range", "")
        size = len(data)
        if requested and self.supports_ranges:
            begin, end = (int(text) for text in requested.removeprefix("bytes=").split("-"))
            data = data[begin : end + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{begin + len(data) - 1}/{size}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", str(path.stat().st_mtime_ns))
        self.end_headers()
        RangeHandler.bytes_sent += len(data)
        self.wfile.write(data)


@pytest.fixture(name="address")
def _address(warehouse: Warehouse, table: Table, remote_cache: Path) -> Iterator[str]:
    assert table.folder.is_relative_to(warehouse.root)
    assert not remote_cache.exists()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(RangeHandler, directory=str(warehouse.root))) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_remote_rows_are_probed(address: str, table: Table) -> None:
    local, remote = TwoSidedTable(table), bgdata.open_two_sided(address, 4, 5)
    assert isinstance(remote, RemoteTwoSidedTable)
    bytes_before = RangeHandler.bytes_sent
    row_bytes = table.array("equities")[0].nbytes
    assert table.manifest.digest in remote._repr_html_()
    assert RangeHandler.bytes_sent == bytes_before, "a notebook fetches nothing"
    assert remote.probe([0, 1, 0, 2], [1, 0, 3, 0]) == local.probe([0, 1, 0, 2], [1, 0, 3, 0])
    assert RangeHandler.bytes_sent - bytes_before == row_bytes
    assert remote.probe([0, 1, 0, 2], 5) == local.probe([0, 1, 0, 2], 5)
    assert RangeHandler.bytes_sent - bytes_before == row_bytes, "the row is kept"
    assert remote.probe_unchecked(33, 7) == local.probe(33, 7)
    assert RangeHandler.bytes_sent - bytes_before == row_bytes + 8
    on_roll, opponent = [3, 9, 3, 40], [1, 2, 3, 4]
    assert (remote.probe_many(on_roll, opponent) == local.probe_many(on_roll, opponent)).all()


def test_changed_remote_file_is_refused(address: str, table: Table) -> None:
    remote = bgdata.open_two_sided(address, 4, 5)
    remote.probe(3, 3)
    table = replace_equities(table, equity_bytes(table))  # written again, so a different file
    with pytest.raises(DownloadError, match=r"equities.npy not to change after it was opened, found it changed; open"):
        remote.probe(4, 4)


def test_damaged_remote_row_is_refused(address: str, table: Table) -> None:
    flip_bit(table.folder / "equities.npy", -1)
    remote = bgdata.open_two_sided(address, 4, 5)
    assert isinstance(remote, RemoteTwoSidedTable)
    last_row = len(remote.rows.hashes) - 1
    with pytest.raises(DigestMismatchError, match=rf"expected row {last_row} of .*equities.npy to match its hash"):
        remote.probe(last_row, 0)


def test_missing_remote_table_is_refused(address: str) -> None:
    with pytest.raises(
        MissingTableError, match=r"no bearoff_two_sided/6x15 in http:.*6x15/current: the server says 404"
    ):
        bgdata.open_two_sided(address, 6, 15)
    with pytest.raises(DownloadError, match=r"cannot read http://127\.0\.0\.1:1/"):
        bgdata.open_two_sided("http://127.0.0.1:1", 6, 15)


def test_server_without_ranges_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RangeHandler, "supports_ranges", False)
    with pytest.raises(DownloadError, match="does not support range requests"):
        bgdata.open_two_sided(address, 4, 5)


def test_small_remote_table_is_fetched_whole(
    address: str, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bearoff_two_sided, "PARQUET_PAIRS", 10**9)
    warehouse.build(KIND, TwoSidedParameters(3, 3))
    small = bgdata.open_two_sided(address, 3, 3)
    assert type(small) is TwoSidedTable, "which has no hashes of rows"
    assert small.probe(3, 5) == bgdata.open_two_sided(warehouse.root, 3, 3).probe(3, 5)
    with pytest.raises(UsageError, match=r"of which every row has a hash, got http:.*equities\.npy"):
        RemoteTwoSidedTable(small.table)  # type: ignore[arg-type]
