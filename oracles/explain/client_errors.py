"""What Kafka's Java client does with each answer of the coordinator: every request, every code.

Nothing here is written down by hand but the words: each cell fires the rule of the model's member
that `conform classic --side member` executes on Kafka's own client, answer by answer. Answers to
FindCoordinator and OffsetFetch are no part of that member and have no cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from attrs import evolve, frozen

from groupcheck.model.engine.rule import Rule
from groupcheck.model.protocol.classic import client as members
from groupcheck.model.protocol.classic.client import Client, Member, Prepare
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.model.protocol.codes import (
    COORDINATOR_NOT_AVAILABLE,
    MEMBER_ID_REQUIRED,
    NONE,
    NOT_COORDINATOR,
    name_of,
)
from groupcheck.model.protocol.link import Link
from groupcheck.model.protocol.messages import (
    NO_ID,
    Answer,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    OffsetCommit,
    Request,
    SyncGroup,
)

UNKNOWN = -1
CODES = (14, 15, 16, 22, 23, 24, 25, 26, 27, 30, 35, 79, 81, 82, UNKNOWN)
"""The errors that a coordinator sends to a classic member, and one that nobody expects."""
LOST = (COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR)
LOOKS = "; it looks for its coordinator first"
_ID, _GENERATION = 0, 2
_JOINING = Client(Member.PREPARING, generation=_GENERATION, id=_ID, prepare=Prepare.DONE)
_SYNCING = evolve(_JOINING, state=Member.COMPLETING)
_STABLE = Client(Member.STABLE, generation=_GENERATION, id=_ID, owned=1, position=1, dirty=False)
_LEFT = Client()
_MEMBERS = (_JOINING, _SYNCING, _STABLE, _LEFT)
# Request -> the rule of its answers, and the Java class that handles them.
_RULES: dict[str, tuple[Rule, str]] = {
    "JoinGroup": (members.join_answer, "AbstractCoordinator.JoinGroupResponseHandler"),
    "SyncGroup": (members.sync_answer, "AbstractCoordinator.SyncGroupResponseHandler"),
    "Heartbeat": (members.heartbeat_answer, "AbstractCoordinator.HeartbeatResponseHandler"),
    "OffsetCommit": (members.commit_answer, "ConsumerCoordinator.OffsetCommitResponseHandler"),
    "LeaveGroup": (members.leave_answer, "AbstractCoordinator.LeaveGroupResponseHandler"),
}
_AGAIN = "joins again at the next poll"
_DOES = {
    **members.join_answer.by_name(
        joined="is in the new generation and sends SyncGroup",
        id_given="takes the id that the answer brings and sends JoinGroup again with it",
        retry="sends JoinGroup again with the same id, after retry.backoff.ms",
    ),
    **members.sync_answer.by_name(
        assigned="has its partitions",
        retry="joins again with the same id",
    ),
    **members.heartbeat_answer.by_name(
        well="goes on",
        ignored="goes on",
        told_to_rejoin=f"goes on, and {_AGAIN}",
    ),
    **members.commit_answer.by_name(
        done="the offsets are committed",
        rebalancing=f"the commit fails; the member keeps its id and {_AGAIN}",
        retry="the commit fails for now: commitSync() and the commit before a join send it again,"
        " commitAsync() reports it",
        dropped="the commit fails, its caller gets the error; the member goes on",
    ),
    members.leave_answer.name: "nothing: it has forgotten its id when it sent the request",
}
_STOPS = {
    members.join_answer.name: "poll() throws it",
    members.sync_answer.name: "poll() throws it",
    members.heartbeat_answer.name: "poll() throws it; the member has forgotten its id",
    members.commit_answer.name: "the commit throws it",
}
_IGNORES = "nothing"
_SAME = "it still has the id and generation of the request"
_WHEN = {
    **members.join_answer.by_name(joined="it still waits for it"),
    **members.sync_answer.by_name(assigned="it still waits for it"),
    **members.heartbeat_answer.by_name(told_to_rejoin="it is STABLE"),
    **members.commit_answer.by_name(
        refused="it has no newer generation, or does not wait for its JoinGroup",
    ),
}
_OTHERWISE = "otherwise"


@frozen
class Cell:
    """One answer, and what the client does then."""

    request: str
    code: int
    # The rule of the model's member, with its outcome.
    rule: str
    # In which situation; empty if always.
    when: str
    does: str
    # The Java class that handles the answer.
    source: str

    @property
    def name(self) -> str:
        """`SyncGroup 25 UNKNOWN_MEMBER_ID`."""
        return f"{self.request} {name_of(self.code)}"

    @property
    def row(self) -> str:
        """How `conform classic --side member` names the rows that execute it."""
        return f"{self.request} is answered {self.code}"


def cells() -> Iterator[Cell]:
    """Every request with every code, in this order; where what happens depends on the member, a
    cell for each.
    """
    for request, (rule, source) in _RULES.items():
        for code in (NONE, *CODES):
            found: dict[str, str] = {}
            for member in _MEMBERS:
                for asked in _asked(request):
                    label, after = _fired(rule, member, asked, code)
                    found.setdefault(label, _does(label, after))
            if code in LOST and request != "LeaveGroup":
                found = {label: text + LOOKS for label, text in found.items()}
            several = len(found) > 1
            for label in sorted(found, key=lambda one: one.endswith((":ignored", ":dropped"))):
                passive = label.endswith((":ignored", ":dropped"))
                when = _OTHERWISE if passive else _WHEN.get(label, _SAME)
                yield Cell(request, code, label, when if several else "", found[label], source)


def _asked(request: str) -> tuple[Request, ...]:
    """The request with the generation that the member has, and with an older one."""
    match request:
        case "JoinGroup":
            return JoinGroup(_ID, _GENERATION), JoinGroup(_ID, _GENERATION - 1)
        case "SyncGroup":
            return SyncGroup(_ID, _GENERATION), SyncGroup(_ID, _GENERATION - 1)
        case "Heartbeat":
            return Heartbeat(_ID, _GENERATION), Heartbeat(_ID, _GENERATION - 1)
        case "OffsetCommit":
            return OffsetCommit(_ID, _GENERATION, 1), OffsetCommit(_ID, _GENERATION - 1, 1)
    return (LeaveGroup(_ID),)


def _fired(rule: Rule, member: Client, asked: Request, code: int) -> tuple[str, Client]:
    """The outcome of the answer, as rule:label, and the member after it."""
    given = code in (NONE, MEMBER_ID_REQUIRED)
    answer = Answer(asked, code, id=_ID if given else NO_ID, generation=_GENERATION, share=1)
    scope = [Scope()] if rule.takes_scope else []
    ((*label, after, _),) = rule.call(member, Link(answer=answer), *scope)
    return ":".join([rule.name, *label]), after


def _does(label: str, after: Client) -> str:
    if label.endswith(":fatal"):
        return _STOPS[label.partition(":")[0]]
    if label.endswith(":refused"):
        lost = "its id and its generation" if after.id == NO_ID else "its generation, not its id"
        fails = "the commit fails; the member" if label.startswith("commit") else ""
        return f"{fails} forgets {lost}, and {_AGAIN}".strip()
    return _DOES.get(label, _IGNORES)


_IF = ("if {0.when}: {0.does}", "{0.when}: {0.does}")


def by_request() -> dict[str, list[tuple[str, str]]]:
    """Request -> (codes with the same effect, what happens), in the order of the cells."""
    out: dict[str, dict[str, list[str]]] = {}
    for (request, code), some in groupby(cells(), lambda cell: (cell.request, cell.code)):
        told = "; ".join(
            _IF[cell.when == _OTHERWISE].format(cell) if cell.when else cell.does for cell in some
        )
        out.setdefault(request, {}).setdefault(told, []).append(name_of(code))
    return {
        request: [(", ".join(codes), told) for told, codes in rows.items()]
        for request, rows in out.items()
    }
