"""Writes generated logs, one for each broker, plain or gzip, and what really happened in them."""

from __future__ import annotations

import gzip
import io
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from time import monotonic
from typing import IO, Any

from attrs import evolve, frozen

from groupcheck.model.engine import UserError
from groupcheck.model.engine.resident import cores
from groupcheck.model.engine.verdict import HOLDS
from groupcheck.oracles.generate.client_files import (
    write_clients,
    write_commits,
    write_had,
    write_lost,
)
from groupcheck.oracles.generate.clock import Clock
from groupcheck.oracles.generate.dialects import DIALECTS
from groupcheck.oracles.generate.generate_types import GenerateDocument, Log
from groupcheck.oracles.generate.lives import Begun, BrokerStream, Pool
from groupcheck.oracles.generate.run import Run
from groupcheck.oracles.printable import printable
from groupcheck.oracles.processes.parallel import results
from groupcheck.oracles.processes.supervisor import temporary_folder, until_interrupted
from groupcheck.oracles.show.meter import reports, time_left
from groupcheck.oracles.show.terminal import EXIT_CODES, say

SCHEMA = "groupcheck.generate/1"
RUNS = 30
OTHERS = 0.05
LOGS, TRUTH = "logs", "truth"


@frozen
class Order:
    """The logs that `groupcheck generate` shall write."""

    # in all logs together
    groups: int = 10
    # bytes of all logs together before they are packed, approximately
    size: int = 1 << 20
    # logs, one for each broker
    files: int = 1
    # brokers take turns with them
    dialects: tuple[str, ...] = ("java-4",)
    seed: int = 0
    # gzip files
    packed: bool = False
    # different runs of the model for each dialect
    runs: int = RUNS
    # logs of members, too
    clients: bool = False

    def __attrs_post_init__(self) -> None:
        mute = [name for name in self.dialects if DIALECTS[name].with_clients is None]
        if self.clients and mute:
            able = [name for name, dialect in DIALECTS.items() if dialect.with_clients is not None]
            raise UserError(
                f"members are not printed beside {mute[0]}",
                where="--clients",
                do=f"give it with --dialect {', '.join(able[:-1])} or {able[-1]}, and no other",
            )
        if self.files > self.groups:
            raise UserError(
                f"there are {self.files:,} files for {self.groups:,} groups",
                where="--files",
                do="each file is the log of a broker that has groups of its own",
            )


@frozen
class Written:
    """One log that was written."""

    path: Path
    dialect: str
    # before it is packed
    bytes: int
    # of coordinators, and of others
    lines: int
    others: int
    groups: int


Progress = Callable[[float, int], None]
GLANCE = 1 << 12  # lines between two reports of progress


def generate(
    folder: Path, order: Order, progress: Progress | None = None, workers: int = 1
) -> list[Written]:
    """Writes logs into `folder`/logs and the truth into `folder`/truth: rebalances.jsonl and
    groups.jsonl, for members owned.jsonl and troubles.jsonl, and for consumer groups
    partitions.jsonl, commits.jsonl and lost.jsonl; one JSON object a line.

    The same order gives the same bytes, however many processes (`workers`) write them. All files
    come to their places at the end, when they are whole. `progress` hears how many logs are
    written, and how many there will be. Raises `UserError` if the folder cannot be made, is not
    empty, or has no room for them.
    """
    try:
        _refuse_full(folder, order)
        folder.mkdir(parents=True, exist_ok=True)
        with temporary_folder(".groupcheck-", folder) as beside:
            written = _write_all(beside, order, progress or (lambda *_: None), workers)
            parts = [beside / str(k) for k in range(order.files)]
            for part in parts:
                _add_truth(part / TRUTH, beside / TRUTH)
            (folder / LOGS).mkdir()
            for file in (file for part in parts for file in (part / LOGS).iterdir()):
                file.replace(folder / LOGS / file.name)
            (beside / TRUTH).replace(folder / TRUTH)
        return [evolve(one, path=folder / LOGS / one.path.name) for one in written]
    except OSError as error:
        raise UserError(
            f"cannot write to {folder}: {error.strerror or error}", where="--out"
        ) from None
    finally:
        _pool.cache_clear()  # no other order needs these runs


def _refuse_full(folder: Path, order: Order) -> None:
    """Raises `UserError` before anything is made, where files are in the way, or the logs would
    fill the disk. How small packed ones become is not known before.
    """
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"{folder} is not empty", where="--out", do="name a new folder")
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    free = shutil.disk_usage(there).free
    if order.size > free and not order.packed:
        raise UserError(
            f"{order.size:,} bytes are more than the {free:,} that are free in {there}",
            where="--size",
            do="write less, or --gzip",
        )


def _write_all(folder: Path, order: Order, progress: Progress, workers: int) -> list[Written]:
    """Writes each log, and the truth about it, into a folder of its own."""
    (folder / TRUTH).mkdir()
    progress(0.0, order.files)
    if order.groups >= order.runs * len(order.dialects):  # nearly all runs are needed
        asked = [(name, k) for name in dict.fromkeys(order.dialects) for k in range(order.runs)]
        for at, run in results(partial(_run, order), asked, workers):
            name, k = asked[at]
            _pool(order, name).keep(k, run)
    write = partial(_write, folder, order)
    written: dict[int, Written] = {}
    here = partial(write, progress=lambda part: progress(len(written) + part, order.files))
    for k, one in results(write, range(order.files), workers, here):
        written[k] = one
        progress(len(written), order.files)
    return [written[k] for k in range(order.files)]


def _add_truth(part: Path, whole: Path) -> None:
    for file in part.iterdir():
        with file.open("rb") as more, (whole / file.name).open("ab") as out:
            shutil.copyfileobj(more, out)
        file.unlink()


def _write(
    beside: Path,
    order: Order,
    k: int,
    progress: Callable[[float], None] = lambda _: None,
) -> Written:
    """One broker's log."""
    folder = beside / str(k)
    for name in (LOGS, TRUTH):
        (folder / name).mkdir(parents=True)
    with (
        (folder / TRUTH / "rebalances.jsonl").open("w") as rebalances,
        (folder / TRUTH / "groups.jsonl").open("w") as groups,
    ):
        dialect = order.dialects[k % len(order.dialects)]
        pool = _pool(order, dialect)
        return _broker(folder, order, k, pool, rebalances, groups, progress)


@lru_cache(len(DIALECTS))
def _pool(order: Order, dialect: str) -> Pool:
    """The runs of a dialect, which all logs share that one process writes. Processes that it
    forks have those that were made before.
    """
    return Pool(DIALECTS[dialect], order.seed, order.runs, order.clients)


def _run(order: Order, asked: tuple[str, int]) -> Run:
    """One run of a dialect: its name, and the number of the run."""
    dialect, number = asked
    return _pool(order, dialect).run(number)


def _broker(
    folder: Path,
    order: Order,
    k: int,
    pool: Pool,
    rebalances: IO[str],
    groups: IO[str],
    progress: Callable[[float], None],
) -> Written:
    """Writes one broker's log into `folder`/logs, and the truth about its groups into the two files
    and `folder`/truth.
    """
    dialect = pool.dialect
    names = [f"group-{g:05}" for g in range(k, order.groups, order.files)]
    stream = BrokerStream(pool, names, f"{order.seed}/{k}", OTHERS, order.size // order.files)
    name = f"{'requests' if dialect.requests else 'broker'}-{k + 1:04}.log" + (
        ".gz" if order.packed else ""
    )
    about = {"file": f"{LOGS}/{name}"}

    def tell(begun: Begun) -> None:
        rebalances.writelines(json.dumps(about | one) + "\n" for one in begun.rebalances)
        write_had(folder, begun, about["file"])
        write_commits(folder, begun, about["file"])
        write_lost(folder, begun, about["file"])
        if order.clients:
            write_clients(folder, begun, order.packed)

    clock, count, size = Clock(), 0, 0
    with _opened(folder / LOGS / name, order.packed) as out:
        for at, text in stream.lines(tell):
            if count % GLANCE == 0:
                progress(min(1.0, size * order.files / order.size))
            line = f"{clock.stamp(at)} {text}\n".encode()
            out.write(line)
            count, size = count + 1, size + len(line)
    for life in stream.lives:
        told = {
            "group": life.group,
            "dialect": dialect.name,
            "verdict": HOLDS,
            "rebalances": life.number,
            "highest_generation": life.highest,
        }
        groups.write(json.dumps(about | told | {"members": life.members, "runs": life.runs}) + "\n")
    return Written(
        folder / LOGS / name,
        dialect.name,
        size,
        count - stream.others_written,
        stream.others_written,
        len(names),
    )


@contextmanager
def _opened(path: Path, packed: bool) -> Iterator[Any]:
    """A file to write bytes to. A packed one holds no time, so its bytes are always the same."""
    with path.open("wb") as raw:
        if not packed:
            with io.BufferedWriter(raw, 1 << 20) as out:
                yield out
            return
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) as out:
            yield out


def progress_line(done: float, whole: int, seconds: float) -> str:
    """One line for a terminal."""
    return f"{int(done):,} of {whole:,} logs  {seconds:.0f} s{time_left(done, whole, seconds)}"


def run(folder: Path, as_json: bool, workers: int | None = None, **wanted: Any) -> int:
    """`groupcheck generate`."""
    import sys

    begun, order, done = monotonic(), Order(**wanted), [0.0]
    stopped: list[str] = []

    def heard(files: float, whole: int) -> None:
        done[0] = files
        if meter:
            meter(files, whole)

    with reports(progress_line) as meter, until_interrupted(stopped.append):
        written = generate(folder, order, heard, workers or cores())
    if stopped:
        say(f"interrupted: {int(done[0]):,} of {order.files:,} logs were written, and none is kept")
        return EXIT_CODES["unknown"]
    seconds = monotonic() - begun
    size = sum(one.bytes for one in written)
    if as_json:
        from groupcheck.oracles.printable import as_text
        from groupcheck.oracles.show.json_schemas import document

        logs = [
            Log(
                file=str(w.path),
                dialect=w.dialect,
                bytes=w.bytes,
                lines=w.lines,
                lines_of_others=w.others,
                groups=w.groups,
            )
            for w in written
        ]
        shown = GenerateDocument(out=str(folder), bytes=size, seconds=round(seconds, 1), files=logs)
        sys.stdout.write(as_text(document(SCHEMA, shown)))
        return 0
    groups, lines = sum(w.groups for w in written), sum(w.lines + w.others for w in written)
    told = (
        f"wrote {size / 2**20:,.1f} MiB of logs to {folder / LOGS} (files: {len(written):,},"
        f" groups: {groups:,}, lines: {lines:,}) and the truth to {folder / TRUTH}"
    )
    print(printable(told))
    return 0
