"""The errors that a member notices when one of several requests in flight is answered."""

from __future__ import annotations

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic.client import Client, Member, Prepare
from groupcheck.model.protocol.codes import NONE
from groupcheck.model.protocol.messages import Answer, JoinGroup, OffsetCommit, SyncGroup
from groupcheck.oracles.conform.member.member_memory import (
    BACKS_OFF,
    LOST,
    Failure,
    Memory,
    RequestInFlight,
)


def answered(m: Memory, sent: RequestInFlight, now: Client) -> Client:
    """The member after an answer. A commit of the application's that may be tried again is not the
    one before JoinGroup, which has a result of its own. The group's member has no other one then.
    """
    beside = isinstance(sent.request, OffsetCommit) and not sent.awaited
    if beside and m.client.prepare == Prepare.COMMITTED and now.state == Member.STABLE:
        return evolve(now, prepare=Prepare.COMMITTED)
    return now


def failed(m: Memory, sent: RequestInFlight, answer: Answer, now: Client) -> Failure:
    """The failure that the next poll notices: a request that has failed, for now or for good."""
    request, code = sent.request, answer.code
    if isinstance(request, JoinGroup | SyncGroup):
        late = (
            isinstance(request, JoinGroup) and code == NONE and m.client.state != Member.PREPARING
        )
        backs_off = LOST if isinstance(request, SyncGroup) else BACKS_OFF
        return Failure.JOIN if code in backs_off or late or now.failed else m.failed
    return Failure.COMMIT if sent.awaited and code in BACKS_OFF else m.failed
