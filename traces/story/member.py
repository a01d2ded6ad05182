"""A member of a group as the lines of a log show it."""

from __future__ import annotations

import re

from attrs import define

from groupcheck.traces.story.moments import Moment

_UUID = re.compile(r"-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")


def client_of(member: str) -> str:
    """The client id (or instance id) in a member id `client-UUID`; the whole id if it has another
    form.
    """
    return _UUID.sub("", member[-400:])


@define
class Member:
    """What the lines show of one member id."""

    id: str
    instance: str | None = None
    # When the id was handed out, when the member joined with it, and when a line names it first.
    handed_out: Moment | None = None
    joined: Moment | None = None
    first_seen: Moment | None = None
    ended: Moment | None = None
    # How it went: left, expired, not_rejoined, not_synced, never_joined, fenced (of KIP-848, for
    # another reason than its session), replaced, or gone where that is not told; empty while it is
    # there, as far as the log goes.
    gone: str = ""
    # It led a generation, visibly joined again, or was in a second generation.
    used: bool = False
    # How many generations began while it was there, and when its session began to count for the
    # last time: a generation began, or it joined; set when it is gone. Of a KIP-848 group: the last
    # heartbeat that a line shows.
    generations: int = 0
    armed: Moment | None = None
    # How many generations it led, and how many rebalances it caused.
    led: int = 0
    caused: int = 0
    # How many generations had begun when a line first named it.
    since: int = 0
    # The reason that its client gave for leaving.
    client_reason: str | None = None
