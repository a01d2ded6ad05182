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


_GONE = {"STALE": "lost", "FENCED": "lost", "FATAL": "lost", "UNSUBSCRIBED": "closed"}
"""States of a member of KIP-848 without partitions -> how it came to that."""


@define
class _Open:
    """A partition that was assigned. A client may announce an assignment or a revocation before the
    callback for it runs: the callback counts. Without a listener, a client of KIP-848 prints the
    announcements alone.
    """

    since: int | None
    announced: bool = False
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
        if said.kind == "assigned" and step in ("callback", "added"):
            for partition in filter(None, partitions):
                if partition in mine and mine[partition].how:
                    end(of, partition)
                one = mine.setdefault(partition, _Open(said.time, announced=step == "added"))
                if one.announced and step == "callback":
                    one.since, one.announced = said.time, False
        elif said.kind in ("revoked", "lost") and step in ("callback", "announced"):
            for partition in filter(mine.__contains__, partitions):
                mine[partition].until, mine[partition].how = said.time, said.kind
                if step == "callback":
                    end(of, partition)
        else:
            closed = said.kind == "closed" and said.fields.get("reason") == "close"
            how = "closed" if closed else _GONE.get(str(said.fields.get("state")))
            for one in mine.values():
                if how and not one.how:
                    one.until, one.how = said.time, how
    for of, mine in held.items():
        for partition in [*mine]:
            end(of, partition)
    return out
