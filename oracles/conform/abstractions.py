"""Where the model means to be coarser than the real coordinator, and what the comparison makes of
it. Everything else is compared as it is.
"""

from __future__ import annotations

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
        " yet: the row is executed with the timer fired once more."
    ),
    "stale assignment": (
        "The coordinator keeps the assignment of the last round until the next one is written. It"
        " is compared in a Stable group, the only one in which it can be read."
    ),
    "stale subscription": (
        "What a member claims to own is compared while something reads it: not of members that a"
        " round still waits for."
    ),
    "answers behind an append": (
        "The runtime holds answers back until what was written before them is replicated; the model"
        " gives them at once. They are compared as they come once it is replicated."
    ),
    "plan written twice": (
        "A leader that asks again while its plan is in flight has it written a second time; the"
        " model knows one record."
    ),
    "timer of 0 ms": (
        "The round of a group that has lost its last member and waits for an id alone has a timeout"
        " of 0: it ends in the step that began it."
    ),
    "timer of a rejected id": (
        "The timer of an id that was rejected for group.max.size stays armed, and finds nobody to"
        " remove when it fires."
    ),
    "due times": (
        "Which timers are armed is compared, not when they are due. A member's timer that fires"
        " while its request is parked does nothing: no row."
    ),
    "replication": (
        "A record survives a fail-over from its append on, or only from its commit on. Both are"
        " executed: fail-overs that keep everything, or what is committed."
    ),
}
