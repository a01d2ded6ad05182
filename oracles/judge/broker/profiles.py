"""The groups that a broker is judged with: a variant of the model each, with its settings, and what
its members say. A broker's setting that the model has to know is part of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen

from groupcheck.oracles.judge.broker.graph import KeptRows
from groupcheck.oracles.judge.following.requests import Timeouts

# A session that no schedule outlasts, and that many brokers make their rounds last for a part of.
USUAL_MS, USUAL_ROUND_MS = 6_000, 60_000
SLOW_MS = 3_000  # where rounds do so
LONG_MS = 8_000  # more than usual: outlasts a round that is waited for, and what lies behind it
TIMERS = ("session_timeout", "rebalance_timeout", "sync_timeout")


@frozen
class Profile:
    """One kind of group."""

    name: str
    # What it is about, in words.
    about: str
    variant: str
    members: int = 2
    settings: Mapping[str, str] = field(factory=dict)
    # Which timers run out while a schedule waits: of the last member's session, or of the round.
    waits: str = ""

    @property
    def rows(self) -> tuple[object, ...]:
        """Profiles of which this is equal have the same rows."""
        return self.variant, self.members, *sorted(self.settings.items())


TWO_STEP = Profile("two-step", "members ask for an id first (JoinGroup 4 and newer)", "classic")
ONE_STEP = Profile(
    "one-step",
    "members join without an id (JoinGroup 3 and older)",
    "classic",
    settings={"two_step": "no"},
)
MIXED = Profile("static", "one member with a group.instance.id, one without", "mixed_membership")
COOPERATIVE = Profile("cooperative", "members say what they own while they join", "cooperative")
THREE = Profile("three", "three members that ask for an id first", "classic", members=3)
SESSIONS = Profile(
    "sessions", "the last member's session is short, and is waited for", "classic", waits="session"
)
ROUNDS = Profile(
    "rounds", "the rebalance timeout is short, and is waited for", "classic", waits="rebalance"
)
STATIC_ROUNDS = Profile(
    "static-rounds",
    "one static member of three; the rebalance timeout is short, and is waited for",
    "mixed_membership",
    members=3,
    waits="rebalance",
)
PROFILES = (TWO_STEP, ONE_STEP, MIXED, COOPERATIVE, THREE, SESSIONS, ROUNDS, STATIC_ROUNDS)
QUICK = (TWO_STEP, ONE_STEP, MIXED, SESSIONS, ROUNDS)


def limited(size: int) -> Profile:
    """A group that group.max.size bounds."""
    return Profile(
        f"full-{size}",
        f"a group of at most {size}, and one process more",
        "classic",
        members=size + 1,
        settings={"max_size": str(size)},
    )


def rows_of(profile: Profile) -> KeptRows:
    """The rows of its coordinator. Its timers may run out, whether they are waited for or not."""
    return KeptRows.at(profile.variant, profile.members, profile.settings, TIMERS)


def timeouts(profile: Profile, member: int, short_ms: int, usual_ms: int) -> Timeouts:
    """What a member says in JoinGroup. `short_ms`: of what is waited for; `usual_ms`: of all
    else.
    """
    usual = Timeouts(usual_ms, USUAL_ROUND_MS)
    if profile.waits == "session" and member == profile.members - 1:
        return Timeouts(short_ms, usual.rebalance_ms)
    if profile.waits == "rebalance":
        return Timeouts(usual_ms + LONG_MS, short_ms)
    return usual
