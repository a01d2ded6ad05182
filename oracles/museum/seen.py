"""The observations of real members while a path was carried out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from attrs import frozen

from groupcheck.traces.messages.consumer_protocol import Partitions, subscription
from groupcheck.traces.messages.message_bytes import Field, Malformed, Reader

# The user data of StickyAssignor up to 2.2; later there is a generation behind it.
_PARTITIONS = (Field("topic", "string"), Field("partitions", "int32", array=True))
_STICKY = (Field("owned", _PARTITIONS, array=True),)
Named = tuple[str, ...]  # partitions such as t-0, in order
AFTER = 0  # the step of what happens when the path is over


@frozen
class NetworkRequest:
    """A request that reached the network."""

    # The step of the path; `AFTER` once it is over.
    step: int
    member: str
    api: str
    # The member id in it; empty: none.
    id: str = ""
    # What a JoinGroup says that the member owns; None: nobody looked.
    claims: Named | None = None
    # The plan in a leader's SyncGroup: the partitions of each member.
    plan: Mapping[str, Named] | None = None

    def __str__(self) -> str:
        said = [f"{self.member} sends {self.api}"]
        if self.api == "JoinGroup":
            said.append("without an id" if not self.id else "")
            said.append("" if self.claims is None else f"claims {_of(self.claims)}")
        if self.plan is not None:
            shares = "; ".join(f"{m} {_of(share)}" for m, share in sorted(self.plan.items()))
            said.append(f"plans: {shares}")
        return ", ".join(filter(None, said))


@frozen
class AnswerSent:
    """An answer that was sent."""

    step: int
    member: str
    api: str
    error: int = 0
    # Of a JoinGroup.
    generation: int = -1

    def __str__(self) -> str:
        joined = self.api == "JoinGroup" and not self.error
        more = f", generation {self.generation}" if joined else f" {self.error}" * bool(self.error)
        return f"{self.member} is answered {self.api}{more}"


@frozen
class Cut:
    """The connection of a member broke, or its process died."""

    step: int
    member: str
    how: str = "loses its connection"

    def __str__(self) -> str:
        return f"{self.member} {self.how}"


@frozen
class App:
    """The observations of the application."""

    step: int
    member: str
    # assigned, revoked, lost, processed, or failed.
    what: str
    of: Named

    def __str__(self) -> str:
        words = {"assigned": "is assigned", "revoked": "revokes", "failed": "fails:"}
        if self.what == "failed":
            return f"{self.member} fails: {' '.join(self.of)}"
        return f"{self.member} {words.get(self.what, self.what)} {_of(self.of)}"


@frozen
class State:
    """The broker's description of the group."""

    step: int
    state: str
    members: int
    # It concerns no member alone.
    member: str = ""

    def __str__(self) -> str:
        members = "1 member" if self.members == 1 else f"{self.members} members"
        return f"the group is {self.state or 'unknown'} and has {members}"


Fact = NetworkRequest | AnswerSent | Cut | App | State


class Left(Exception):
    """Somebody did something else than the path says."""


@frozen
class PerformanceRecord:
    """One performance: a path carried out by the members of one release."""

    release: str
    facts: tuple[Fact, ...]
    # Why the path could not be followed to its end, and in which step; empty if it was.
    left_at: str = ""
    left_in: int = 0

    def sent(self, api: str, member: str | None = None) -> Iterator[NetworkRequest]:
        for fact in self.facts:
            if (
                isinstance(fact, NetworkRequest)
                and fact.api == api
                and member in (None, fact.member)
            ):
                yield fact

    @property
    def group(self) -> State | None:
        """The broker's last description of the group."""
        return next((f for f in reversed(self.facts) if isinstance(f, State)), None)

    def lines(self) -> Iterator[str]:
        for fact in self.facts:
            yield f"{fact.step or 'after':>5}  {fact}"


def claims(metadata: bytes) -> Named:
    """The partitions that a member says it owns, in its subscription or, before KIP-429, in the
    user data of its sticky assignor.
    """
    try:
        told = subscription(metadata)
        if told.owned or not told.user_data or told.version:
            return named(told.owned)
        owned = Reader(told.user_data).beginning(_STICKY, 0)["owned"]
    except Malformed:
        return ()
    return named(tuple((t["topic"], p) for t in owned for p in t["partitions"]))


def named(partitions: Partitions) -> Named:
    return tuple(sorted(f"{topic}-{p}" for topic, p in partitions))


def _of(partitions: Named) -> str:
    return " and ".join(partitions) or "nothing"
