"""Writes the logs of members, one for each process of a group, the coordinator's log of each group,
and the truth about the members.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from groupcheck.model.protocol.codes import name_of
from groupcheck.oracles.generate.clock import Clock
from groupcheck.oracles.generate.lives import Begun


def write_clients(folder: Path, begun: Begun, packed: bool) -> None:
    """Adds one run of a group to `folder`/logs/GROUP.client-N.log and GROUP.coordinator.log, and to
    owned.jsonl and troubles.jsonl in `folder`/truth. Times are those of the logs.
    """
    clients = begun.run.members
    assert clients is not None
    clock = Clock()
    logs: dict[str, list[str]] = {}
    every = [(at, f"client-{who.number}", parts) for at, who, parts in clients.lines]
    every += [(at, "coordinator", parts) for at, parts in clients.coordinator]
    for at, writer, parts in every:
        line = f"{clock.line(begun.at + at, begun.filling, parts)}\n"
        logs.setdefault(writer, []).append(line)
    for writer, lines in sorted(logs.items()):
        name = f"{begun.group}.{writer}.log"
        data = "".join(lines).encode()
        if packed:  # a gzip file may have several parts
            name, data = f"{name}.gz", gzip.compress(data, 6, mtime=0)
        with (folder / "logs" / name).open("ab") as out:
            out.write(data)

    _add(
        folder / "truth" / "owned.jsonl",
        [
            {
                "group": begun.group,
                "client": f"client-{one.process.number}",
                "partition": f"t-{one.partition}",
                "since": _stamp(clock, begun, one.since),
                "until": _stamp(clock, begun, one.until),
                "how": one.how,
            }
            for one in clients.owned
        ],
    )
    _add(
        folder / "truth" / "troubles.jsonl",
        [
            {
                "group": begun.group,
                "client": f"client-{who.number}",
                "at": _stamp(clock, begun, at),
                "what": what,
            }
            for at, who, what in clients.troubles
        ],
    )


def write_had(folder: Path, begun: Begun, file: str) -> None:
    """Adds to partitions.jsonl in `folder`/truth which members of a consumer group had which
    partition by the coordinator's records in one run. `file`: the log of their broker.
    """
    clock = Clock()
    had = (
        {
            "member": begun.filling.names[one.member],
            "partition": f"t-{one.partition}",
            "since": _stamp(clock, begun, one.since),
            "asked": _stamp(clock, begun, one.asked),
            "until": _stamp(clock, begun, one.until),
            "how": one.how,
        }
        for one in begun.run.had
    )
    _adds(folder, "partitions", begun, file, had)


def write_commits(folder: Path, begun: Begun, file: str) -> None:
    """Adds to commits.jsonl in `folder`/truth what members of a consumer group committed in one
    run, and how that was answered. `file`: the log of their broker.
    """
    clock, base = Clock(), begun.filling.offsets
    made = (
        {
            "client": f"client-{one.process}",
            "member": begun.filling.names[one.member],
            "at": _stamp(clock, begun, at),
            "epoch": begun.filling.generation + one.epoch if one.epoch > 0 else one.epoch,
            "offsets": {f"t-{p}": n + (base[p] if base else 0) for p, n in one.offsets.items()},
            "answer": name_of(one.code),
            "why": one.why,
        }
        for at, one in begun.run.commits
    )
    _adds(folder, "commits", begun, file, made)


def write_lost(folder: Path, begun: Begun, file: str) -> None:
    """Adds to lost.jsonl in `folder`/truth which records of a consumer group could not be appended
    in one run. `file`: the log of their broker.
    """
    clock = Clock()
    lost = (
        {"member": begun.filling.names[member], "at": _stamp(clock, begun, at), "of": of}
        for at, member, of in begun.run.lost
    )
    _adds(folder, "lost", begun, file, lost)


def _adds(folder: Path, name: str, begun: Begun, file: str, rows: Iterable[dict[str, Any]]) -> None:
    """Adds rows about a group to a file of the truth, which is made for the first row."""
    about = {"file": file, "group": begun.group}
    if told := [about | row for row in rows]:
        _add(folder / "truth" / f"{name}.jsonl", told)


def _stamp(clock: Clock, begun: Begun, ms: int | None) -> str | None:
    return None if ms is None else clock.stamp(begun.at + ms).strip("[]")


def _add(path: Path, some: list[dict[str, Any]]) -> None:
    with path.open("a") as out:
        out.writelines(json.dumps(one) + "\n" for one in some)
