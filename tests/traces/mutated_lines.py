"""A million lines of recorded logs, mutated: `make nightly` runs this.

Lines are dropped, repeated, shuffled or cut, and bytes are changed. No mutation may raise anything
but a `UserError` or take more than bounded memory, and no log that lacks lines, or has them in
another order, may be called `violated`: the coordinator did nothing wrong.

usage: mutated_lines.py [LINES [SEED]]
"""

from __future__ import annotations

import gzip
import random
import resource
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from groupcheck.model.engine import UserError
from groupcheck.model.engine.verdict import VIOLATED
from groupcheck.oracles.replay.report import replay

DATA = Path(__file__).parent.parent / "data"
MOST_LINES, MOST_MEMORY = 2000, 1 << 30
Lines = list[bytes]


def dropped(lines: Lines, draw: random.Random) -> Lines:
    return [line for line in lines if draw.random() < 0.9]


def repeated(lines: Lines, draw: random.Random) -> Lines:
    return [line for line in lines for _ in range(1 + (draw.random() < 0.1))]


def shuffled(lines: Lines, draw: random.Random) -> Lines:
    return draw.sample(lines, len(lines))


def jittered(lines: Lines, draw: random.Random) -> Lines:
    order = sorted(range(len(lines)), key=lambda k: k + draw.uniform(0, 3))
    return [lines[k] for k in order]


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
    whole = b"\n".join(lines)
    at = sorted(draw.randrange(len(whole) + 1) for _ in range(2))
    return (whole[: at[0]] + whole[at[1] :]).split(b"\n")


INNOCENT: tuple[Callable[[Lines, random.Random], Lines], ...] = (
    dropped,
    repeated,
    shuffled,
    jittered,
)
CHANGES = (*INNOCENT, cut, altered, torn)


def recorded() -> Iterable[tuple[Lines, bool]]:
    """The recorded logs, and whether they are whole logs of brokers, whose coordinators are
    correct; the others are excerpts.
    """
    for path in sorted(DATA.rglob("*.log*")):
        raw = path.read_bytes()
        text = gzip.decompress(raw) if path.suffix == ".gz" else raw
        yield text.splitlines()[:MOST_LINES], path.parent.name in ("replay", "requests", "dumps")


def main(most: int = 1_000_000, seed: int = 0) -> None:
    draw, done, wrong = random.Random(seed), 0, 0
    wholes, excerpts = [], []
    for one in recorded():
        (wholes if one[1] else excerpts).append(one)
    verdicts: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "server.log")
        while done < most:
            lines, whole = draw.choice(draw.choice((excerpts, wholes)))
            change = draw.choice(CHANGES)
            mutated = change(lines, draw)
            done += len(mutated)
            path.write_bytes(b"\n".join(mutated) + b"\n")
            try:
                verdict = replay([path]).verdict
            except UserError as e:
                verdict = f"refused: {e.what[:40]}"
            except Exception as e:
                verdict = f"raised {type(e).__name__}"
            verdicts[change.__name__, verdict] += 1
            accused = whole and change in INNOCENT and verdict == VIOLATED
            if accused or verdict.startswith("raised"):
                wrong += 1
                kept = Path(tempfile.gettempdir(), f"mutated-{seed}-{wrong}.log")
                kept.write_bytes(path.read_bytes())
                print(f"{kept}: {change.__name__} lines: {verdict}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    for (change_name, verdict), count in sorted(verdicts.items()):
        print(f"{change_name:9} {verdict:40} {count:,}")
    print(f"{done:,} lines, seed {seed}, {memory >> 20:,} MiB at most")
    if wrong or memory > MOST_MEMORY:
        raise SystemExit(1)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
