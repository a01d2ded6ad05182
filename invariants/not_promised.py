"""The properties that users hope for and Kafka does not promise. None of this is checked unless it
is asked for by its name:
`groupcheck check classic --fault session_timeout=1 --invariant one_process_at_work`. It breaks, and
the counterexample is the window in which it does.
"""

from __future__ import annotations

from typing import Annotated, Any

from groupcheck.model.engine import invariant, step_invariant
from groupcheck.model.protocol.classic import coordinator
from groupcheck.model.protocol.classic.client import Client
from groupcheck.model.protocol.classic.features.commit_styles import FAMILY as STYLES
from groupcheck.model.protocol.classic.features.cooperative import FAMILY as COOPERATIVE
from groupcheck.model.protocol.classic.features.full_offsets.admin import delete_offsets
from groupcheck.model.protocol.classic.features.full_offsets.commits import txn_offset_commit
from groupcheck.model.protocol.classic.features.full_offsets.feature import FAMILY as KEPT_OFFSETS
from groupcheck.model.protocol.classic.features.full_offsets.kept import OffsetStore
from groupcheck.model.protocol.classic.features.full_offsets.transactions import end_transaction
from groupcheck.model.protocol.classic.features.static import FAMILY as STATIC_MEMBERS
from groupcheck.model.protocol.classic.group import Phase, is_member
from groupcheck.model.protocol.classic.offsets import process_record, store_offset
from groupcheck.model.protocol.family import CLASSIC_GROUP, OFFSETS
from groupcheck.model.protocol.messages import NO_ID


@invariant(
    source="protocol: C14 DoubleExecution, C2 with zombies", of=CLASSIC_GROUP, promised=False
)
def one_process_at_work(
    a: Annotated[int, "standing[i]"],
    b: Annotated[int, "left_behind[i]"],
    c: Annotated[int, "zombie[i]"],
    d: Annotated[int, "standing[j]"],
    e: Annotated[int, "left_behind[j]"],
    f: Annotated[int, "zombie[j]"],
) -> bool:
    """No two processes believe at the same time that they own the same partition, whether they are
    members or not.

    Why: Kafka does not promise this. A member whose session expires, or that joins too late, loses
    its partitions at the coordinator at once, and learns of it from its next answer. Until then
    both the old and the new owner process records; only the new one can commit.
    """
    return not (a | b | c) & (d | e | f)


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.offset_commit.name,),
    source="protocol: C7' OwnershipAtCommit; ClassicGroup.validateOffsetCommit",
    broken="The coordinator accepts a commit of {name}, which has no partition",
    of=CLASSIC_GROUP,
    promised=False,
)
def commits_by_owners(before: Any, after: Any, label: str) -> bool:
    """The coordinator accepts an OffsetCommit only from a member to which the stored assignment
    gives a partition.

    Why: Kafka does not promise this. The coordinator looks at the member's id and generation, and
    never at its partitions. While a round collects JoinGroups it takes a commit of the generation
    before.
    """
    if label != "accepted":
        return True
    seat = before.seats[before.link.request.id]
    return seat is None or bool(seat.share)


@step_invariant(
    "client",
    "offsets",
    rules=(process_record.name,),
    source="KafkaConsumer.commitAsync",
    broken=(
        "{name} begins another record of p{offsets.watched} while {offsets.committed} are committed"
    ),
    of=STYLES,
    promised=False,
)
def nothing_uncommitted(before: Any, after: Any) -> bool:
    """An application begins a record only once all before it are committed.

    Why: Kafka does not promise this. A poll commits once in auto.commit.interval.ms. commitAsync
    does not wait for its answer, and nobody sends its commit again that was lost. commitSync throws
    while the group rebalances, and the application goes on.
    """
    return bool(before.offsets.committed >= before.client.position)


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.join_group.name,),
    source="protocol: K10; ClassicGroupMember.matches",
    broken="{name} sends the JoinGroup that it has sent before, and a round starts",
    of=CLASSIC_GROUP,
    promised=False,
)
def same_join_starts_no_round(before: Any, after: Any, label: str) -> bool:
    """A follower of a Stable group that sends the JoinGroup that it has sent before is answered at
    once, and no round starts.

    Why: Kafka does not promise this. The log holds one assignor of each member, the one that was
    voted for. So a member that lists two counts as changed when it joins again behind a fail-over.
    """
    request, seats = before.link.request, before.seats
    seat = seats[request.id]
    if before.core.phase != Phase.STABLE or not is_member(seat) or seats.leader == request.id:
        return True
    said = (seat.claimed, seat.owned, seat.topics)
    same = said == (request.claimed, request.owned, request.topics)
    return not same or label != "restarted"


@step_invariant(
    "offsets",
    rules=(store_offset.name,),
    source="protocol: C16 OffsetsBackwards",
    broken="The committed offset of p{offsets.watched} falls to {offsets.committed}",
    of=OFFSETS,
    promised=False,
)
def offsets_only_grow(before: Any, after: Any) -> bool:
    """The committed offset of a partition never becomes smaller.

    Why: Kafka does not promise this. The last commit that arrives wins, whatever it says: an
    asynchronous commit that was held up takes the place of a later one.
    """
    return bool(after.offsets.committed >= before.offsets.committed)


@step_invariant(
    "core",
    "seats",
    "link",
    rules=(coordinator.join_group.name,),
    source="protocol: C12 StaticNoRebalance, K6; KIP-345",
    broken="{name} comes back, and its share does not simply stay where it is",
    of=STATIC_MEMBERS,
    promised=False,
)
def bounces_cost_nothing(before: Any, after: Any, label: str) -> bool:
    """A static member that comes back before its session times out gets its share, and no round
    starts for it or goes on with it.

    Why: Kafka promises this for a Stable group below group.max.size alone. In CompletingRebalance
    the return starts another round, in PreparingRebalance it is part of the round, and a full group
    refuses its own member with 81 (GROUP_MAX_SIZE_REACHED).
    """
    back = before.seats.ids and before.link.request.id == NO_ID
    return not back or label == "replaced"


@invariant(source="protocol: C3 NoOverlapInTime", of=COOPERATIVE, promised=False)
def cooperative_owners_apart(
    a: Annotated[int, "standing[i]"], b: Annotated[int, "standing[j]"]
) -> bool:
    """No two members of the current generation believe that they own the same partition, whatever
    they have told the leader.

    Why: Kafka does not promise this. The leader goes by the last subscription of each member, which
    may not name all that the member owns: a late JoinGroup may have replaced it, or a static member
    has missed a round and stayed in the group.
    """
    return not a & b


@step_invariant(
    "link",
    rules=(txn_offset_commit.name,),
    source="ClassicGroup.validateOffsetCommit; KIP-447",
    broken="The coordinator accepts a transactional commit from anybody",
    of=KEPT_OFFSETS,
    promised=False,
)
def transactions_by_members(before: Any, after: Any, label: str) -> bool:
    """The coordinator accepts transactional commits only from members.

    Why: Kafka does not promise this. A TxnOffsetCommit without id and generation, as producers sent
    it before KIP-447, is accepted from anybody, in every state of the group.
    """
    return label != "anonymous"


@step_invariant(
    "txn",
    "offsets",
    rules=(end_transaction.name,),
    source="KIP-129, KIP-447",
    broken="{name} commits a transaction with a record that another committed transaction holds",
    of=KEPT_OFFSETS,
    promised=False,
)
def delivered_once_by_anybody(before: Any, after: Any, label: str) -> bool:
    """No record is part of two transactions that are committed, whatever producers and
    administrators do.

    Why: Kafka does not promise this. Without ids and generations a zombie's commit is accepted; and
    what an administrator sets back is processed again.
    """
    return label != "commit" or bool(before.txn.since >= before.offsets.delivered)


@step_invariant(
    "core",
    "offsets",
    rules=(delete_offsets.name,),
    source="ClassicGroup.isSubscribedToTopic",
    broken="The committed offset {was.committed} is deleted while members join the group",
    of=KEPT_OFFSETS,
    promised=False,
)
def joining_offsets_stay(before: Any, after: Any) -> bool:
    """No offset is deleted once somebody has joined the group.

    Why: Kafka does not promise this. While the first round of a group runs that was Empty, the
    coordinator still holds the empty set of subscriptions of the last generation, so that
    OffsetDelete takes an offset away from members that are about to start there.
    """
    kept = after.offsets.committed == before.offsets.committed
    return bool(kept) or bool(before.core.members == 0)


@invariant(
    source="protocol: C8 NoLoss; segmentio/kafka-go#904",
    broken=(
        "{name} starts p{offsets.watched} at {client.position}, so record"
        " {offsets.processed}, which nobody has processed, is skipped"
    ),
    of=KEPT_OFFSETS,
    promised=False,
)
def nothing_skipped(offsets: OffsetStore, client: Client) -> bool:
    """Once a record was processed, no member starts behind one that was not.

    Why: Kafka does not promise this. With auto.offset.reset=latest, a member whose committed offset
    has expired or was deleted, or that has not committed yet, starts behind all records that came
    meanwhile.
    """
    return not offsets.processed or client.position <= offsets.processed
