"""The types of the facts that request logs tell, in the document of `replay`."""

from __future__ import annotations

from typing import Annotated

from attrs import frozen

from groupcheck.oracles.show.json_schemas import ABSENT, Count


@frozen(kw_only=True)
class Generation:
    """One generation."""

    group: Annotated[str, "The group."]
    generation: Annotated[int, "Its number."]
    protocol: Annotated[str | None, "The assignor that was chosen; null if the log does not tell."]
    joins: Annotated[
        list[
            Annotated[
                tuple[str, int, int],
                "[client, arrived, answered], times in milliseconds since 1970.",
            ]
        ],
        "JoinGroups in order of arrival.",
    ]
    leader: Annotated[str | None, "The leader's client; null if the log does not tell."]
    completed: Annotated[
        int, "When the first member was told, in milliseconds since 1970 of the broker's clock."
    ]
    first_join_arrived: Annotated[
        int, "When the first JoinGroup arrived, in milliseconds since 1970 of the broker's clock."
    ]
    last_join_arrived: Annotated[
        int, "When the last JoinGroup arrived, in milliseconds since 1970 of the broker's clock."
    ]
    slowest: Annotated[str, "The client whose JoinGroup arrived last."]
    joined_without_rebalance: Annotated[
        list[
            Annotated[
                tuple[str, int, int],
                "[client, arrived, answered], times in milliseconds since 1970.",
            ]
        ],
        "JoinGroups that were answered later with the same generation; missing if there are none.",
    ] = ABSENT


@frozen(kw_only=True)
class Epoch:
    """One epoch."""

    group: Annotated[str, "The group."]
    epoch: Annotated[int, "Its number."]
    reached: Annotated[
        dict[str, int], "Client -> when it was first told, in milliseconds since 1970."
    ]
    slowest: Annotated[str, "The last client to be told."]


@frozen(kw_only=True)
class TwoOwners:
    """One such time."""

    group: Annotated[str, "The group."]
    partition: Annotated[str, "The partition."]
    earlier_owner: Annotated[str, "The member that had it before."]
    later_owner: Annotated[str, "The member that got it."]
    t: Annotated[int, "Since when, in milliseconds since 1970 of the broker's clock."]
    until: Annotated[int, "Until when, in milliseconds since 1970 of the broker's clock."]
    ms: Annotated[int, "How long, in milliseconds."]
    shown_by: Annotated[str, "The request by which the earlier owner showed it."]


@frozen(kw_only=True)
class BackwardCommit:
    """One such commit."""

    t: Annotated[int, "When, in milliseconds since 1970 of the broker's clock."]
    group: Annotated[str, "The group."]
    partition: Annotated[str, "The partition."]
    by: Annotated[str, "Who committed."]
    committed: Annotated[int, "The offset."]
    was: Annotated[int, "The offset before it."]
    was_by: Annotated[str, "Who had committed that."]


@frozen(kw_only=True)
class ForeignCommit:
    """One such commit."""

    t: Annotated[int, "When, in milliseconds since 1970 of the broker's clock."]
    group: Annotated[str, "The group."]
    partition: Annotated[str, "The partition."]
    by: Annotated[str, "Who committed."]
    offset: Annotated[int, "The offset."]


@frozen(kw_only=True)
class RequestFacts:
    """What a request log says without any model. Processes are named by client id."""

    requests: Annotated[dict[str, Count], "API -> number of requests."]
    error_answers: Annotated[
        dict[str, dict[str, Count]], "API and error code -> client -> number of answers."
    ]
    generations: Annotated[
        list[Generation], "Generations of classic groups, in order of completion."
    ]
    generations_not_listed: Annotated[Count, "Generations beyond the limit of the list."]
    epochs: Annotated[list[Epoch], "Epochs of KIP-848 groups."]
    two_owners: Annotated[
        list[TwoOwners], "Times in which two members believed that they owned one partition."
    ]
    committed_offset_went_back: Annotated[
        list[BackwardCommit], "Accepted commits that were lower than the one before."
    ]
    commit_accepted_from_non_owner: Annotated[
        list[ForeignCommit], "Accepted commits of clients that had not been assigned the partition."
    ]
