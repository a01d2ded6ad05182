"""Who owned which partition when, as the callbacks of clients tell in their logs."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import define, frozen

from groupcheck.traces.clients.said import Said


@frozen
class Owned:
    """One client owned one partition, by what its application was told."""

    partition: str
    # The client that wrote it.
    who: str
    group: str
    # Milliseconds; None if the line shows no time.
    since: int | None
    # None: until the end of the log.
    until: int | None
    # revoked, lost or closed; empty at the end of the log.
    how: str = ""


@define
class _Open:
    """A partition that was assigned. A client may announce a revocation before the callback for it
    runs: the later one counts.
    """

    since: int | None
    until: int | None = None
    how: str = ""


def owned(statements: Iterable[Said]) -> list[Owned]:
    """The intervals in the order of their ends."""
    held: dict[tuple[str, str], dict[str, _Open]] = {}
    out: list[Owned] = []

    def end(of: tuple[str, str], partition: str) -> None:
        one = held[of].pop(partition)
        out.append(Owned(partition, of[1], of[0], one.since, one.until, one.how))

    for said in statements:
        of = (said.group, said.who)
        mine = held.setdefault(of, {})
        step = said.fields.get("step", "callback")
        partitions = [p.strip() for p in str(said.fields.get("partitions", "")).split(",")]
        if said.kind == "assigned" and step == "callback":
            for partition in filter(None, partitions):
                if partition in mine and mine[partition].how:
                    end(of, partition)
                mine.setdefault(partition, _Open(said.time))
        elif said.kind in ("revoked", "lost") and step in ("callback", "announced"):
            for partition in filter(mine.__contains__, partitions):
                mine[partition].until, mine[partition].how = said.time, said.kind
                if step == "callback":
                    end(of, partition)
        elif said.kind == "closed" and said.fields.get("reason") == "close":
            for partition in [*mine]:
                if not mine[partition].how:
                    mine[partition].until, mine[partition].how = said.time, "closed"
    for of, mine in held.items():
        for partition in [*mine]:
            end(of, partition)
    return out
