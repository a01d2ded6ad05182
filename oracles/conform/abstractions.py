"""Where the model is coarser than the real coordinator on purpose, and what the comparison allows
there. Everything else is compared as it is.

What the real coordinator remembers and the model forgets is kept beside the model
(`schedule_memory`) and compared, too. `excuses` says in which rows an abstraction was needed; a
run counts them.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.model.protocol.classic import timers
from groupcheck.oracles.conform.comparing import held_for_good
from groupcheck.oracles.conform.real_position import (
    Move,
    Standing,
    ends_at_once,
    late_codes,
    leads_with,
)
from groupcheck.oracles.conform.row import Fires, Input, Memory, Outcome
from groupcheck.oracles.conform.schedule_memory import left_over

ABSTRACTIONS = {
    "ids": (
        "The model numbers the ids of a process; the value of a UUID shows in nothing but hash"
        " orders."
    ),
    "absent group": (
        "The model's group exists from the start; every schedule begins with an id that comes and"
        " goes, which creates it."
    ),
    "left-over flag": (
        "newMemberAdded can be left over from a round that an expiry completed; a later initial"
        " delay is then extended although nobody was added. To the model, that delay is not over"
        " yet: exactly where the flag is left over, the timer is fired once more."
    ),
    "stale values": (
        "The assignment of the last round, and subscriptions and timeouts of members that have not"
        " joined again, are not part of the model's memory. What they must be is known from the"
        " schedule, and compared."
    ),
    "answers behind an append": (
        "The runtime holds answers back until what was written before them is replicated; the model"
        " gives them at once. Which are held back is known, and they are compared when they come."
    ),
    "plan written twice": (
        "A leader that asks again while its plan is in flight has it written a second time. The"
        " second record has the fate of the first, of which the model knows. The leader of the rows"
        " brings the same plan again; a situation executes what another plan does."
    ),
    "timer of 0 ms": (
        "The round of a group that has lost its last member and waits for an id alone has a timeout"
        " of 0: it ends in the step that began it."
    ),
    "timer of a rejected id": (
        "The timer of an id that was rejected for group.max.size stays armed, and would find nobody"
        " to remove. It is not fired."
    ),
    "time-outs of writes": (
        "Every write that waits for replication has a time-out. It is fired for the leader's plan;"
        " for the others, it would only answer the request that made the write."
    ),
    "timer that fires in vain": (
        "The session timer of a member whose request is parked does nothing when it fires. That it"
        " is gone until the request is answered is not part of the model's memory."
    ),
    "answers of a former coordinator": (
        "A former coordinator that does not know yet holds back answers behind an append that it"
        " cannot finish. In the model only the append of a leader's plan does that; of other"
        " appends it does not know whether they are in flight."
    ),
    "replication": (
        "A record survives a fail-over from its append on, or only from its commit on. Both are"
        " executed: fail-overs that keep everything, or what is committed."
    ),
}


def excuses(
    at: Standing, before: Memory, given: Input, moved: Move, outcome: Outcome, now: Standing
) -> Iterator[str]:
    """The abstractions without which the row would not agree. `at` and `now` are where the real
    coordinator stands before and after.
    """
    fires = given.rule if isinstance(given, Fires) else ""
    if fires == timers.initial_delay.name and left_over(at.past, at.commands, before.core):
        yield "left-over flag"
    if late_codes(at, before, given, moved, outcome):
        yield "answers behind an append"
    if leads_with(before, given) and before.core.appending:
        yield "plan written twice"
    if ends_at_once(outcome):
        yield "timer of 0 ms"
    if now.past.rejected:
        yield "timer of a rejected id"
    if any(write.number != now.append for write in now.log.in_flight):
        yield "time-outs of writes"
    if given.former and held_for_good(at, outcome):
        yield "answers of a former coordinator"
    if now.past.spent - at.past.spent:
        yield "timer that fires in vain"
