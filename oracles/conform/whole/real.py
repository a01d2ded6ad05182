"""The form of the real group, as it is compared."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from groupcheck.model.protocol.classic.client import Prepare
from groupcheck.oracles.conform.whole.form import (
    Form,
    GroupForm,
    LinkForm,
    MemberForm,
    SeatForm,
    coarse,
)
from groupcheck.oracles.conform.whole.look import GroupLook, Look, MemberLook, SeatLook


def sync_waits(member: MemberLook) -> bool:
    """Is SyncGroup the next thing that the coordinator reads of the member?"""
    if member.outstanding is not None:
        return False
    first = member.unread[0].api if member.unread else ""
    return "SyncGroup" in member.unsent or first == "SyncGroup"


def forgets(member: MemberLook) -> bool:
    """Has it lost its generation before onJoinComplete? It forgets its id in the next poll."""
    return member.state == "UNJOINED" and member.answered


def form_of(look: Look) -> Form:
    """The form of the real group, as it is compared."""
    group, seats = _real_group(look.group)
    return Form(
        group._replace(append_ms=frozenset(look.append_ms)),
        seats,
        tuple([_real_member(member) for member in look.members]),
        tuple([_real_link(member) for member in look.members]),
        max(0, look.committed),
        look.logged,
    )


@lru_cache(maxsize=1 << 12)
def _real_group(real: GroupLook) -> tuple[GroupForm, dict[str, SeatForm]]:
    """A group that does not exist is like one that is Empty and has never had a member."""
    due, members = dict(real.timers), dict(real.members)
    leader = members.get(real.leader or "")
    waits = leader is not None and leader.awaiting_join
    form = GroupForm(
        real.state,
        real.generation,
        due.pop("join-g", None),
        due.pop("sync-g", None),
        frozenset(),
        (len(members), real.awaiting_join, len(real.pending_join), len(real.pending_sync)),
        waits and real.state == "PreparingRebalance",
        frozenset(Counter(name for m in members.values() for name in m.protocols).items()),
        real.protocol if real.state in ("CompletingRebalance", "Stable") else None,
    )
    own = {key.removeprefix("heartbeat-g-"): ms for key, ms in due.items()}
    # An id that only a timer, the leader or a SyncGroup mentions is there, too.
    leads = [real.leader] if real.leader is not None else []
    seats = {
        name: SeatForm(
            False,
            name in real.pending_join,
            name == real.leader,
            name in real.pending_sync,
            own.get(name),
        )
        for name in sorted({*members, *real.pending_join, *real.pending_sync, *own, *leads})
    }
    for name, member in members.items():
        seats[name] = _real_seat(seats[name], member, real.state)
    return form, seats


def _real_seat(form: SeatForm, member: SeatLook, state: str) -> SeatForm:
    claims = member.awaiting_join or state != "PreparingRebalance"
    return form._replace(
        member=True,
        parked_join=member.awaiting_join,
        parked_sync=member.awaiting_sync,
        new=member.new,
        assignment=member.share if state == "Stable" else None,
        claimed=member.claimed if claims else None,
        claims=member.claims if claims else None,
        times=member.times,
        protocols=member.protocols,
    )


@lru_cache(maxsize=1 << 14)
def _real_link(real: MemberLook) -> LinkForm:
    unread = real.unread[sync_waits(real) and "SyncGroup" not in real.unsent :]
    waits = real.outstanding
    if waits is not None and real.static and waits.api == "JoinGroup":
        waits = waits._replace(id="")  # see `fitting._waiting`
    return LinkForm(waits, real.orphaned, real.late, unread)


@lru_cache(maxsize=1 << 14)
def _real_member(real: MemberLook) -> MemberForm:
    if real.closing or real.failed:
        return MemberForm(real.closing, bool(real.failed))
    waits = real.state == "STABLE" and real.joining
    return MemberForm(
        False,
        False,
        real.state,
        real.generation,
        "" if forgets(real) else real.id,
        real.owned,
        real.position,
        real.rejoin if real.state == "STABLE" else None,
        waits,
        None if waits else coarse(real.state, real.owned, _prepare(real)),
    )


def _prepare(real: MemberLook) -> Prepare:
    """How far the poll thread has come in a round."""
    if sync_waits(real):
        return Prepare.SYNC
    if not real.prepare:
        return Prepare.DONE
    if real.committing in ("done", "failed") or (real.prepare_over and real.committing != "none"):
        return Prepare.COMMITTED
    return Prepare.NEEDED
