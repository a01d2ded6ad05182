"""The facts that the request log states by itself: who asked for what, what was refused, who joined
which generation, what was committed.

It reads only the recorder's own recordings and shares nothing with the replay of logs
(`groupcheck.traces`), so that the two can be compared.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from groupcheck.oracles.record.beliefs import Owned
from groupcheck.oracles.record.selection import stamp

Event = Mapping[str, Any]
_PREPARES = re.compile(
    r"Preparing to rebalance group (\S+) in state \w+ with old generation (-?\d+) \(reason:"
    r" (.*)\)\. \(org\.apache\.kafka\.coordinator\.group\."
)
_BUMPS = re.compile(r"\[GroupId (\S+)\].* [Bb]umped group epoch to (\d+)")
_TOPIC_ID = re.compile(r"Replayed TopicRecord for topic (\S+) with topic ID (\S+?)\.? ")
BEGIN = "Completed request:"
GRACE_MS = 20  # between the broker's clock reading and the member's


@frozen
class Exchange:
    # Unix ms.
    arrived: int
    answered: int
    # The program that asked.
    run: str
    api: str
    request: Event
    response: Event


def exchanges(lines: Iterable[str]) -> Iterator[Exchange]:
    """The exchanges of a request log, in the order of the answers. A line that was cut off is left
    out.
    """
    for line in lines:
        at = stamp(line)
        begin, end = line.find(BEGIN), line.rfind("} (kafka.request.logger)")
        if at is None or begin < 0 or end < 0:
            continue
        try:
            said = json.loads(line[begin + len(BEGIN) : end + 1])
        except ValueError:
            continue
        header = said["requestHeader"]
        # In a scenario a program's name is its client.id.
        yield Exchange(
            round(at - said["totalTimeMs"]),
            at,
            header["clientId"],
            header["requestApiKeyName"],
            said["request"],
            said["response"],
        )


def counted(found: Iterable[Exchange]) -> dict[str, int]:
    """How many requests each API had."""
    return dict(Counter(one.api for one in found))


def refused(found: Iterable[Exchange]) -> dict[str, dict[str, int]]:
    """`API CODE` -> program -> how many of its requests were answered with that error."""
    counts: dict[str, Counter[str]] = {}
    for one in found:
        for code in sorted(_codes(one.response) - {0}):
            counts.setdefault(f"{one.api} {code}", Counter())[one.run] += 1
    return {name: dict(sorted(by_run.items())) for name, by_run in sorted(counts.items())}


def _codes(value: Any) -> set[int]:
    """Every error code in an answer, at any depth."""
    if isinstance(value, list):
        return {code for item in value for code in _codes(item)}
    if not isinstance(value, dict):
        return set()
    own = {value["errorCode"]} if isinstance(value.get("errorCode"), int) else set()
    return own.union(*(_codes(item) for item in value.values()))


def member_ids(found: Iterable[Exchange], run: str) -> list[str]:
    """The member ids that a program was given, in order."""
    ids = [
        one.response.get("memberId")
        for one in found
        if one.run == run and one.api in ("JOIN_GROUP", "CONSUMER_GROUP_HEARTBEAT")
    ]
    return list(dict.fromkeys(id for id in ids if id))


def generations(found: Iterable[Exchange]) -> list[dict[str, Any]]:
    """Each generation of a classic group: who joined it, when those JoinGroups came and were
    answered, who led it, and who kept it waiting.
    """
    by_key: dict[tuple[str, int], list[Exchange]] = {}
    for one in found:
        if one.api == "JOIN_GROUP" and not one.response["errorCode"]:
            key = one.request["groupId"], one.response["generationId"]
            by_key.setdefault(key, []).append(one)
    return sorted(
        (_generation(*key, joins) for key, joins in by_key.items()), key=lambda g: g["completed"]
    )


def _generation(group: str, number: int, joins: list[Exchange]) -> dict[str, Any]:
    joins.sort(key=lambda one: one.arrived)
    leading = [one for one in joins if one.response["leader"] == one.response["memberId"]]
    members = {m["memberId"] for one in leading[:1] for m in one.response.get("members", ())}
    completed = min(one.answered for one in joins)
    in_time: list[Exchange] = []
    late: list[Exchange] = []
    # Who joins once more with unchanged protocols, or takes a static member's place, is let into
    # the generation as it stands. The time alone does not tell the last member of a round: an
    # answer is stamped when its line is written, perhaps after those of others.
    for one in joins:
        id = one.response["memberId"]
        again = any(other.response["memberId"] == id for other in in_time)
        is_late = (again and one.arrived > completed) or (members and id not in members)
        (late if is_late else in_time).append(one)
    if not in_time:  # nothing of the round itself was recorded
        in_time, late = joins, []
    about = {
        "group": group,
        "generation": number,
        "protocol": joins[0].response["protocolName"],
        "joins": [[one.run, one.arrived, one.answered] for one in in_time],
        "completed": completed,
        "first_join_arrived": in_time[0].arrived,
        "last_join_arrived": in_time[-1].arrived,
        "slowest": in_time[-1].run,
    }
    if leading:
        about["leader"] = leading[0].run
    if late:
        about["joined_without_rebalance"] = [[one.run, one.arrived, one.answered] for one in late]
    return about


def epochs(found: Iterable[Exchange]) -> list[dict[str, Any]]:
    """Each epoch of a KIP-848 group: when each program was first told it, and who was last."""
    by_key: dict[tuple[str, int], dict[str, Any]] = {}
    for one in found:
        if (
            one.api == "CONSUMER_GROUP_HEARTBEAT"
            and not one.response["errorCode"]
            and one.response["memberEpoch"] > 0
        ):
            group, epoch = one.request["groupId"], one.response["memberEpoch"]
            about = by_key.setdefault(
                (group, epoch), {"group": group, "epoch": epoch, "reached": {}}
            )
            about["reached"].setdefault(one.run, one.answered)
    for about in by_key.values():
        about["slowest"] = max(about["reached"], key=about["reached"].__getitem__)
    return [about for _, about in sorted(by_key.items())]


def rebalance_starts(broker_lines: Iterable[str]) -> list[dict[str, Any]]:
    """The beginnings of rebalances, each with the coordinator's reason or the new group epoch."""
    found: list[dict[str, Any]] = []
    for line in broker_lines:
        at = stamp(line)
        if match := _PREPARES.search(line):
            found.append(
                {"t": at, "group": match[1], "old_generation": int(match[2]), "reason": match[3]}
            )
        elif match := _BUMPS.search(line):
            found.append({"t": at, "group": match[1], "group_epoch": int(match[2])})
    return found


def topic_ids(broker_lines: Iterable[str]) -> dict[str, str]:
    """Topic -> id, from the broker's log of its metadata."""
    return {match[1]: match[2] for line in broker_lines if (match := _TOPIC_ID.search(line))}


def commits(
    found: Iterable[Exchange], spans: Mapping[str, Sequence[Owned]], names: Mapping[str, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The accepted commits that set an offset back, and those from a program that did not own the
    partition. `names`: topic id -> topic.
    """
    last: dict[tuple[str, str], tuple[int, str]] = {}
    back: list[dict[str, Any]] = []
    foreign: list[dict[str, Any]] = []
    for one in found:
        if one.api != "OFFSET_COMMIT":
            continue
        group = one.request["groupId"]
        for partition, offset in _accepted(one, names):
            about = {"t": one.answered, "group": group, "partition": partition, "by": one.run}
            before = last.get((group, partition))
            if before and offset < before[0]:
                back.append(about | {"committed": offset, "was": before[0], "was_by": before[1]})
            last[group, partition] = (offset, one.run)
            own = spans.get(one.run, ())
            if not any(
                name == partition and a - GRACE_MS <= one.arrived <= b + GRACE_MS
                for name, a, b, _ in own
            ):
                foreign.append(about | {"offset": offset})
    return back, foreign


def _accepted(one: Exchange, names: Mapping[str, str]) -> list[tuple[str, int]]:
    def partitions(said: Event) -> Iterator[tuple[str, Event]]:
        for topic in said["topics"]:
            id = topic.get("topicId", "")
            for partition in topic["partitions"]:
                name = topic.get("name") or names.get(id, id)
                yield f"{name}-{partition['partitionIndex']}", partition

    granted = {name for name, p in partitions(one.response) if not p["errorCode"]}
    return [(name, p["committedOffset"]) for name, p in partitions(one.request) if name in granted]
