"""Lines of the new coordinator (Kafka 3.6 on) about classic groups, loading and the coordinator's
life.

org.apache.kafka.coordinator.group: GroupMetadataManager, classic.ClassicGroup (3.6:
generic.GenericGroup), GroupCoordinatorService, GroupCoordinatorShard, OffsetMetadataManager;
coordinator.common.runtime.CoordinatorRuntime (before 3.9: group.runtime).
"""

from __future__ import annotations

from groupcheck.traces.broker.grammar import Table, rows
from groupcheck.traces.broker.grammar_other import OTHER
from groupcheck.traces.story.events import (
    AppendFailed,
    AssignmentReceived,
    CoordinatorStarted,
    CoordinatorStopped,
    EmptyAssignment,
    Fenced,
    GroupEmptied,
    GroupLoaded,
    GroupsDeleted,
    GroupUnloaded,
    IdHandedOut,
    JoinRejected,
    LeaderReplaced,
    LoadFailed,
    MemberAdded,
    MemberExpired,
    MemberLeft,
    MemberLoaded,
    Noted,
    NotRejoined,
    NotSynced,
    PartitionGiven,
    PartitionTaken,
    RebalanceStarted,
    RoundOpen,
    RoundSkipped,
    RoundStuck,
    Stabilized,
    StaticKept,
    StaticReplaced,
)

_LEFT = " has left group through explicit `LeaveGroup` request; client reason: {client_reason}"

ROUNDS = rows(
    "GroupMetadataManager",
    [
        (RebalanceStarted, "3.6", "now",
         "Preparing to rebalance group {group} in state {_state:state}"
         " with old generation {generation:int} (reason: {reason:reason})."),
        (Stabilized, "3.6", "now",
         "Stabilized group {group} generation {generation:int} with {members:int} members."),
        (AssignmentReceived, "3.6", "now",
         "Assignment received from leader {leader} for group {group}"
         " for generation {generation:int}."
         " The group has {members:int} members, {static:int} of which are static."),
        (GroupEmptied, "3.6", "now",
         "Group {group} with generation {generation:int} is now empty."),
        (RoundSkipped, "3.6", "now", "Group {group} is dead, skipping rebalance stage."),
        (RoundStuck, "3.6", "now",
         "Group {group} could not complete rebalance because no members rejoined."),
        (RoundOpen, "4.0", "now",
         "Cannot complete join phase of group {group} because not all the members have rejoined."
         " Members={members:int}, AwaitingJoinResponses={parked:int},"
         " PendingJoinMembers={pending:int}."),
        (RoundOpen, "4.0", "now",
         "Cannot complete join phase of group {group} because this is an initial rebalance.",
         {"initial": True}),
        (RoundOpen, "4.0", "now",
         "Cannot complete join phase of group {group} because the group"
         " is in {phase:state} state."),
    ],
)  # fmt: skip

MEMBERS = rows(
    "GroupMetadataManager",
    [
        (IdHandedOut, "3.6", "now",
         "Dynamic member with unknown member id joins group {group} in {phase:state} state."
         " Created a new member id {member} and requesting the member to rejoin with this id."),
        (MemberAdded, "3.6", "now",
         "Dynamic member with unknown member id joins group {group} in state {phase:state}."
         " Created a new member id {member} and added the member to the group."),
        (MemberAdded, "3.6", "now",
         "Static member with groupInstanceId={instance}"
         " and unknown member id joins group {group} in {phase:state} state."
         " Created a new member id {member} for this member and added to the group."),
        (MemberAdded, "3.6", "now",
         "Pending dynamic member with id {member} joins group {group} in {phase:state} state."
         " Adding to the group now.",
         {"fresh": False}),
        (StaticReplaced, "3.6", "now",
         "Static member with groupInstanceId={instance}"
         " and unknown member id joins group {group} in {phase:state} state."
         " Replacing previously mapped member {old} with this groupInstanceId."),
        (StaticKept, "3.6", "now",
         "Static member which joins during Stable stage"
         " and doesn't affect the selected protocol will not trigger a rebalance."),
        (MemberLeft, "3.7", "now", "[Group {group}] Member {member}" + _LEFT),
        (MemberLeft, "3.7", "now",
         "[Group {group}] Pending member {member}" + _LEFT,
         {"pending": True}),
        (MemberExpired, "3.6", "now",
         "Member {member} in group {group} has failed, removing it from the group."),
        (MemberExpired, "3.6", "now",
         "Pending member {member} in group {group} has been removed"
         " after session timeout expiration.",
         {"pending": True}),
        (NotRejoined, "3.6", "now",
         "Group {group} removed dynamic members who haven't joined: {members:ids}"),
        (NotSynced, "3.6", "now",
         "Group {group} removed members who haven't sent their sync requests: {members:ids}"),
        (LeaderReplaced, "3.6", "now",
         "Group leader [memberId: {old}, groupInstanceId: {_instance}] failed to join"
         " before the rebalance timeout."
         " Member {new} was elected as the new leader."),
        (LeaderReplaced, "3.6", "now",
         "Group leader [memberId: {old}, groupInstanceId: {_instance}] failed to join"
         " before the rebalance timeout and the group couldn't proceed to the next generation"
         " because no member joined."),
        (Fenced, "3.6", "now",
         "Request memberId={member} for static member with groupInstanceId={instance}"
         " is fenced by existing memberId={current} during operation {operation}"),
        (JoinRejected, "3.6", "now",
         "Attempt to add rejoining member {member} of group {group}"
         " in unexpected group state {phase:state}"),
        (EmptyAssignment, "3.6", "now",
         "Setting empty assignments for members {members:ids} of {group}"
         " for generation {generation:int}."),
        (EmptyAssignment, "3.6", "now",
         "Sending empty assignment to member {members:ids} of {group}"
         " for generation {generation:int} with no errors"),
        (AppendFailed, "3.6", "now",
         "Failed to persist metadata for group {group} static member {_new}"
         " with group instance id {_instance} due to {error}."
         " Reverting to old member id {reverted_to}."),
        (AppendFailed, "3.6", "now", "Failed to write empty metadata for group {group}: {error}"),
    ],
)  # fmt: skip

LIFE = rows(
    "CoordinatorRuntime",
    [
        (GroupLoaded, "3.6", "3.6", "Loaded generic group {group} with {members:int} members."),
        (GroupLoaded, "3.7", "now", "Loaded classic group {group} with {members:int} members."),
        (MemberLoaded, "3.6", "3.6", "Loaded member {member} in generic group {group}."),
        (MemberLoaded, "3.7", "now", "Loaded member {member} in classic group {group}."),
        (GroupUnloaded, "3.8", "now",
         "[GroupId={group}] Unloading group metadata for generation {generation:int}."),
        (PartitionTaken, "3.6", "now",
         "Scheduling loading of metadata from __consumer_offsets-{partition:int}"
         " with epoch {_epoch}"),
        (PartitionGiven, "3.6", "now",
         "Scheduling unloading of metadata for __consumer_offsets-{partition:int}"
         " with epoch {_epoch}"),
        (LoadFailed, "3.6", "now",
         "Failed to load metadata from __consumer_offsets-{partition:int} with epoch {_epoch}"
         " due to {error}"),
        (GroupsDeleted, "3.7", "now",
         "The following groups were deleted: {groups:names}."
         " A total of {_count:int} offsets were removed."),
        (CoordinatorStarted, "3.6", "now", "Starting up."),
        (CoordinatorStopped, "3.6", "now", "Shutting down."),
        *(
            (Noted, "3.6", "now", opening + "{_rest}", {"what": what})
            for opening, what in (
                ("Startup complete.", "started"),
                ("Shutdown complete.", "stopped"),
                ("Group coordinator is already ", "started or stopped"),
                ("Started unloading metadata ", "unloading"),
                ("Finished unloading metadata ", "unloaded"),
                ("Ignored unloading metadata ", "stale election"),
                ("Ignored loading metadata ", "stale election"),
                ("Ignoring loading metadata ", "stale election"),
                ("Ignored load completion ", "stale election"),
                ("Ignoring load completion ", "stale election"),
                ("Finished loading of metadata ", "loaded"),
                ("Failed to load metadata ", "load failed"),
                ("Failed to unload ", "unload failed"),
                ("Failed to complete the loading ", "loading"),
                ("Cannot load coordinator ", "load failed"),
                ("The coordinator ", "loading"),
                ("The state machine of the coordinator ", "out of sync with the log"),
                ("Loaded group ", "unknown kind of group"),
                ("Removed group ", "unknown kind of group"),
                ("onUnloaded group ", "unknown kind of group"),
                ("Generated ", "offsets expired"),
                ("Coordinator runtime ", "closed"),
                ("Closing coordinator runtime", "closed"),
                ("Shutting down event processor", "closed"),
                ("Event processor closed", "closed"),
                ("Draining event accumulator", "closed"),
                ("Event accumulator ", "closed"),
                ("Scheduled execution of ", "runtime"),
                ("Execution of ", "operation failed"),
                ("Completion of event ", "operation failed"),
                ("Operation ", "operation failed"),
                ("JoinGroup request ", "operation failed"),
                ("SyncGroup request ", "operation failed"),
                ("LeaveGroup request ", "operation failed"),
                ("Heartbeat request ", "operation failed"),
                ("DescribeGroups request ", "operation failed"),
                ("Failed to enqueue ", "runtime"),
                ("Failed to flush ", "append failed"),
                ("Failed to write ", "append failed"),
                ("Writing records ", "append failed"),
                ("Failed to parse Consumer Protocol ", "subscription not readable"),
                ("Replaying ", "runtime"),
                ("Replayed ", "runtime"),
                ("Registering timer ", "runtime"),
                ("Scheduling write event ", "runtime"),
                ("Scheduling applying ", "runtime"),
                ("Applying new metadata image", "runtime"),
                ("Ignored new metadata image", "runtime"),
                ("Executing write event ", "runtime"),
                ("The write event ", "runtime"),
                ("High watermark of ", "runtime"),
                ("Updating high watermark ", "runtime"),
                ("Ignored high watermark ", "runtime"),
                ("Transition from ", "runtime"),
                ("Tried to flush ", "runtime"),
                ("Aborted transactional offset commits ", "commit"),
                ("Committed transact", "commit"),
                ("Skipped the materialization ", "commit"),
                ("Could not delete offsets ", "offsets deleted"),
                ("Cannot find the group, skipping ", "late timer"),
                ("Received notification of heartbeat expiration ", "late timer"),
                ("Received notification of sync expiration ", "late timer"),
                ("Received unexpected notification of sync expiration ", "late timer"),
                ("Detected that ", "assignor"),
            )
        ),
        (Noted, "3.6", "now",
         "Member {_member} has already been removed from the group.",
         {"what": "late timer"}),
    ],
)  # fmt: skip

JAVA = Table((*ROUNDS, *MEMBERS, *LIFE, *OTHER))
