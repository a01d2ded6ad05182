"""A million lines of logs in every format that `replay` reads, mutated: `make nightly` runs this.

Lines (of captures: packets) are dropped, repeated, shuffled, cut, picked out as with grep, and
bytes are changed. No mutation may raise anything but a `UserError` or take more than bounded
memory. None that only takes lines away, repeats them or changes their order may be an accusation:
no coordinator may be called `violated`, and no line of a client impossible.

usage: mutated_lines.py [LINES [SEED]]
"""

from __future__ import annotations

import gzip
import random
import re
import resource
import struct
import sys
import tarfile
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path

from as_events import CASES, as_event
from attrs import Factory, define, frozen
from java_members import JAVA, recording, tried
from table_shapes import SHAPES

from groupcheck.model.engine import UserError
from groupcheck.model.engine.verdict import VIOLATED
from groupcheck.oracles.replay.report import ReplayReports, replay
from groupcheck.traces.clients.client_log import ClientLog

DATA = Path(__file__).parent.parent / "data"
MOST_LINES, MOST_MEMORY = 600, 1 << 30
Lines = list[bytes]
Change = Callable[[Lines, random.Random], Lines]


# -- what may be done to a log


def dropped(lines: Lines, draw: random.Random) -> Lines:
    kept = draw.choice((0.3, 0.7, 0.9, 0.99))
    return [line for line in lines if draw.random() < kept]


def repeated(lines: Lines, draw: random.Random) -> Lines:
    return [line for line in lines for _ in range(1 + (draw.random() < 0.1))]


def shuffled(lines: Lines, draw: random.Random) -> Lines:
    return draw.sample(lines, len(lines))


def jittered(lines: Lines, draw: random.Random) -> Lines:
    order = sorted(range(len(lines)), key=lambda k: k + draw.uniform(0, 3))
    return [lines[k] for k in order]


def _window(lines: Lines, draw: random.Random) -> tuple[int, int]:
    since, until = sorted(draw.randrange(len(lines) + 1) for _ in range(2))
    return since, until


def window(lines: Lines, draw: random.Random) -> Lines:
    since, until = _window(lines, draw)
    return lines[since:until]


def without(lines: Lines, draw: random.Random) -> Lines:
    since, until = _window(lines, draw)
    return lines[:since] + lines[until:]


def appended(lines: Lines, draw: random.Random) -> Lines:
    since, until = _window(lines, draw)
    return lines + lines[since:until]


def picked(lines: Lines, draw: random.Random) -> Lines:
    """The lines with some word, or those without it."""
    words = re.findall(rb"[\w.-]{3,}", draw.choice(lines)) or [b""]
    word, kept = draw.choice(words), draw.random() < 0.5
    return [line for line in lines if (word in line) == kept]


def cut(lines: Lines, draw: random.Random) -> Lines:
    return [
        line[: draw.randrange(len(line) + 1)] if draw.random() < 0.1 else line for line in lines
    ]


def altered(lines: Lines, draw: random.Random) -> Lines:
    def byte(line: bytes) -> bytes:
        at = draw.randrange(len(line) + 1)
        return line[:at] + bytes([draw.randrange(256)]) + line[at + draw.randrange(2) :]

    return [byte(line) if draw.random() < 0.2 else line for line in lines]


def torn(lines: Lines, draw: random.Random) -> Lines:
    """What stands between two bytes is missing."""
    since, until = sorted(draw.randrange(sum(map(len, lines)) + 1) for _ in range(2))
    left, at = [], 0
    for line in lines:
        left.append(line[: max(since - at, 0)] + line[max(until - at, 0) :])
        at += len(line)
    return left


INNOCENT: tuple[Change, ...] = (
    dropped, repeated, shuffled, jittered, window, without, appended, picked,
)  # fmt: skip
CHANGES = (*INNOCENT, cut, altered, torn)


# -- the logs


@frozen
class Material:
    format: str
    name: str
    # Lines without their ends, or the packets of a capture, each with its header.
    pieces: tuple[bytes, ...]
    # What a capture begins with.
    head: bytes = b""
    # Its coordinator is correct, and nothing in it is impossible.
    innocent: bool = True

    def file(self, pieces: Lines) -> bytes:
        return self.head + (b"" if self.head else b"\n").join([*pieces, b""])


def _unpacked(path: Path) -> bytes:
    raw = path.read_bytes()
    return gzip.decompress(raw) if path.suffix == ".gz" else raw


def _files() -> Iterator[tuple[str, str, bytes]]:
    """Format, name and content of every recorded log."""
    for folder, format in (("replay", "broker"), ("requests", "requests"), ("dumps", "dumps"),
                           ("incidents", "incidents")):  # fmt: skip
        for path in sorted((DATA / folder).glob("*.log*")):
            yield format, path.name, _unpacked(path)
    for path in sorted((DATA / "captures").glob("*.requests.log.gz")):
        yield "requests", path.name, _unpacked(path)
    for path in sorted((DATA / "clients").glob("*.log.gz")):
        java = re.match("recorded|live-java", path.name)
        yield "Java clients" if java else "other clients", path.name, _unpacked(path)
    for path in sorted((DATA / "scenarios").glob("*.tgz")):
        with tarfile.open(path) as archive:
            for member in archive:
                if member.name.endswith(".log"):
                    kind = member.name.split(".")[1]
                    java = "Java clients" if "-java" in path.name else "other clients"
                    content = archive.extractfile(member)
                    assert content is not None
                    format = java if kind == "client" else kind
                    yield format, f"{path.name}/{member.name}", content.read()


def _packets(raw: bytes) -> Iterator[bytes]:
    at = 24
    while at < len(raw):
        size = 16 + struct.unpack_from("<I", raw, at + 8)[0]
        yield raw[at : at + size]
        at += size


def materials() -> Iterator[Material]:
    for format, name, content in _files():
        yield Material(
            format, name, tuple(content.splitlines()), innocent=format not in ("incidents",)
        )
    for path in sorted((DATA / "captures").glob("*.pcap.gz")):
        raw = gzip.decompress(path.read_bytes())
        yield Material("captures", path.name, tuple(_packets(raw)), raw[:24])
    cases = tomllib.loads((DATA / "causes/tables.toml").read_text())["case"]
    tables = [*SHAPES.values(), *(case["log"] for case in cases)]
    for k in range(0, len(tables), 4):
        text = "\n".join(tables[k : k + 4]).encode()
        yield Material("tables", f"tables {k}", tuple(text.split(b"\n")))
    logs = [(str(k), case["log"].split("\n")) for k, case in enumerate(CASES)]
    logs += [(name, list(recording(name))) for name in JAVA]
    for name, lines in logs:
        said = ClientLog().statements(enumerate(lines, 1))
        events = [text.encode() for s in said if (text := as_event(s)) is not None]
        if events:
            yield Material("events", name, tuple(events))


# -- the answers


@define
class Tally:
    """The cuts of one format."""

    cuts: int = 0
    lines: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    answers: Counter[str] = Factory(Counter)


def accusations(found: ReplayReports) -> set[str]:
    kinds = {f.cause.kind for a in found.answers for f in a.diagnosis.causes}
    return ({VIOLATED} & {found.verdict}) | ({"impossible_line"} & kinds)


def answered(path: Path) -> tuple[str, set[str]]:
    """The answer in a word, and what it accuses somebody of."""
    try:
        found = replay([path])
        str(found)
        return found.health, accusations(found)
    except UserError:
        return "refused", set()
    except Exception as e:
        return f"raised {type(e).__name__}", set()


def main(most: int = 1_000_000, seed: int = 0) -> None:
    draw, wrong = random.Random(seed), 0
    of: dict[str, list[Material]] = defaultdict(list)
    for one in materials():
        of[one.format].append(one)
    tallies: dict[str, Tally] = defaultdict(Tally)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "server.log")
        for format in cycle(sorted(of)):
            if sum(t.lines for t in tallies.values()) >= most:
                break
            material, change, tally = draw.choice(of[format]), draw.choice(CHANGES), tallies[format]
            begin = draw.randrange(max(1, len(material.pieces) - MOST_LINES))
            mutated = change(list(material.pieces[begin : begin + MOST_LINES]), draw)
            path.write_bytes(material.file(mutated))
            since = time.process_time()
            answer, accused = answered(path)
            took = time.process_time() - since
            tally.cuts, tally.lines = tally.cuts + 1, tally.lines + len(mutated)
            tally.seconds, tally.slowest = tally.seconds + took, max(tally.slowest, took)
            tally.answers[answer] += 1
            accused = accused if material.innocent and change in INNOCENT else set()
            if accused or answer.startswith("raised"):
                wrong += 1
                kept = Path(tempfile.gettempdir(), f"mutated-{seed}-{wrong}.log")
                kept.write_bytes(path.read_bytes())
                print(f"{kept}: {material.name} {change.__name__}: {answer} {accused}", flush=True)
    for format, tally in tallies.items():
        answers = ", ".join(f"{n:,} {word}" for word, n in sorted(tally.answers.items()))
        print(f"{format:13} {tally.cuts:5,} cuts, {tally.lines:7,} lines, {tally.seconds:4.0f} s,"
              f" the slowest {tally.slowest:.1f} s: {answers}")  # fmt: skip
    claimed = sum(tried(recording(name), seed, 1 + most // 40_000) for name in JAVA)
    print(f"{claimed:,} variants of Java members claim nothing that the whole log does not")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"{sum(t.cuts for t in tallies.values()):,} cuts,"
          f" {sum(t.lines for t in tallies.values()):,} lines, seed {seed},"
          f" {memory >> 20:,} MiB at most")  # fmt: skip
    if wrong or memory > MOST_MEMORY:
        raise SystemExit(1)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
