"""The promises that protocol.md names by a letter and a number: C (the classic group), L (what has
to happen in the end), X (a fail-over of the coordinator), K (counterexamples that are known).

How each is classified stands here, one entry for each id. What states it is found by the sources:
a promise whose `source` says "protocol: C1" states C1, a situation of `conform` whose source ends
with "protocol.md 7.8, K9" shows K9. The page of promises is made of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from attrs import frozen

from groupcheck.model.variants.registry import every_name, load
from groupcheck.oracles.conform.situations.running import SITUATIONS
from groupcheck.oracles.explain.subject import promises

MUST = "must hold"
CLIENTS = "holds for well-behaved clients"
REPORTED = "does not hold, and is reported"
SHOWN = "a known counterexample"
OUTSIDE = "outside the model"


@frozen
class Entry:
    """How a promise is classified."""

    title: str
    kind: str
    # What is exempt, or why nothing states it; empty if there is nothing to say.
    note: str = ""


NAMED: Mapping[str, Entry] = {
    "C1": Entry("one owner in a generation", CLIENTS, "The coordinator does not look at plans."),
    "C2": Entry("no two members own a partition (eager)", MUST, "Zombies are exempt, see C14."),
    "C3": Entry(
        "no two members own a partition (cooperative)",
        CLIENTS,
        "Exempt: `both_claim`, `kept_owner_overlap`.",
    ),
    "C4": Entry("the leader is a member", MUST),
    "C5": Entry("generations grow", MUST, "A fail-over may issue one again, see K8."),
    "C6": Entry(
        "members of a Stable group have its generation", MUST, "Only those that have synced."
    ),
    "C7": Entry("zombies cannot commit", MUST, "That owners alone commit (C7') does not hold."),
    "C8": Entry("no record is lost", CLIENTS, "The application commits after it has processed."),
    "C9": Entry(
        "no answered commit is lost",
        OUTSIDE,
        "The model keeps every accepted commit; `conform` compares the log.",
    ),
    "C10": Entry(
        "a session lasts as long as promised", OUTSIDE, "Timers have no lengths in the model."
    ),
    "C11": Entry("a group has group.max.size members at most", MUST),
    "C12": Entry(
        "a static member comes back without a round",
        MUST,
        "Exempt: K6, K7, and groups that are not Stable (`bounces_cost_nothing`).",
    ),
    "C13": Entry("one id for each instance", MUST),
    "C14": Entry("one process works on a partition", REPORTED),
    "C15": Entry("every partition is assigned", CLIENTS, "Exempt: K5 and `withheld_from_nobody`."),
    "C16": Entry("offsets do not go backwards", REPORTED),
    "C17": Entry(
        "one answer for each request",
        MUST,
        "A request that a later one has replaced gets none, see K11.",
    ),
    "L1": Entry("the group comes to rest", CLIENTS),
    "L2": Entry(
        "a round ends",
        CLIENTS,
        "Static members that hang hold it up for max.poll.interval.ms and their session.",
    ),
    "L3": Entry("a generation gets its assignment", CLIENTS),
    "L4": Entry(
        "who is removed joins again",
        CLIENTS,
        "Not after 81, 82 and other errors that stop the client.",
    ),
    "L5": Entry("what is revoked is given away", CLIENTS, "Exempt: `withheld_from_nobody`."),
    "L6": Entry(
        "somebody owns each partition", CLIENTS, "Under endless changes it is not promised."
    ),
    "L7": Entry("an id that was handed out holds up no round for ever", MUST),
    "L8": Entry(
        "the offsets of an Empty group expire",
        MUST,
        "In `offsets`. A transaction that stays open keeps the group.",
    ),
    "X1": Entry("a new coordinator loads the last record", MUST),
    "X2": Entry(
        "a fail-over takes no assignment away",
        MUST,
        "Exempt: K10, and a group above group.max.size. `conform` compares every fail-over; no "
        "invariant states it.",
    ),
    "X3": Entry("a fail-over leaves no request waiting", MUST),
    "X4": Entry(
        "two coordinators do not both write", MUST, "The model has one coordinator at a time."
    ),
    "X5": Entry(
        "what was answered survives a fail-over", MUST, "A LeaveGroup does not (FINDINGS, 25)."
    ),
    "X6": Entry(
        "a group stays on its partition",
        OUTSIDE,
        "The model has one partition of __consumer_offsets.",
    ),
    "K5": Entry("a static member comes back with more topics", SHOWN),
    "K6": Entry("a static member comes back to a full group", SHOWN),
    "K7": Entry("a static member comes back before it has synced", SHOWN),
    "K8": Entry("a generation is issued twice", SHOWN),
    "K9": Entry("a generation is loaded that nobody was told", SHOWN),
    "K10": Entry("a fail-over forgets lists of assignors", SHOWN),
    "K11": Entry("a replaced request is never answered", SHOWN),
    "K12": Entry(
        "a claim is made at the next generation",
        SHOWN,
        "Rows and situations of the member execute it. `hand_off` holds with it: two claims to one"
        " partition in one generation need a fail-over and a static member.",
    ),
}
_ID = re.compile(r"\b([CLXK]\d+)(?!\d)")


@frozen
class Row:
    """An entry with what states it."""

    id: str
    entry: Entry
    # Promise -> the variants that check it.
    stated: Mapping[str, tuple[str, ...]]
    # Names of situations that `conform` executes.
    situations: tuple[str, ...]


def ids_in(source: str) -> frozenset[str]:
    """The ids that a source names: those behind "protocol"."""
    return frozenset(_ID.findall("".join(source.partition("protocol")[1:])))


def rows() -> Iterator[Row]:
    """All entries, each with the promises and situations that name it."""
    stated: dict[str, dict[str, list[str]]] = {}
    for variant in map(load, every_name()):
        said = promises(variant)
        lasting = said.progress if variant.progress else ()
        for p in (*said.invariants, *said.goals, *lasting, *said.not_promised):
            for id in ids_in(p.source):
                stated.setdefault(id, {}).setdefault(p.name, []).append(variant.name)
    for id, entry in NAMED.items():
        found = {name: tuple(where) for name, where in stated.get(id, {}).items()}
        yield Row(id, entry, found, tuple(_situations(id)))


def _situations(id: str) -> Iterable[str]:
    return (s.name for s in SITUATIONS if id in ids_in(s.source))
