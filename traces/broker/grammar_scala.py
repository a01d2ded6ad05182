"""Lines of the old coordinator (Kafka 0.9 to 3.9): kafka.coordinator.group.GroupCoordinator,
GroupMetadataManager, GroupMetadata.
"""

from __future__ import annotations

from groupcheck.traces.broker.grammar import Table, rows
from groupcheck.traces.story.events import (
    AppendFailed,
    AssignmentReceived,
    CoordinatorStarted,
    CoordinatorStopped,
    EmptyAssignment,
    Fenced,
    GroupDied,
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
    RoundSkipped,
    RoundStuck,
    Stabilized,
    StaticKept,
    StaticReplaced,
)

_P = "(__consumer_offsets-{_partition:int})"
_MEMBER = (
    "MemberMetadata(memberId={member}, groupInstanceId={instance:option}, clientId={_client},"
    " clientHost={_host}, sessionTimeoutMs={session:int}, rebalanceTimeoutMs={rebalance:int},"
    " supportedProtocols={protocols:assignors})"
)

ROUNDS = rows(
    "GroupCoordinator",
    [
        (RebalanceStarted, "0.9", "0.10",
         "Preparing to restabilize group {group} with old generation {generation:int}"),
        (RebalanceStarted, "0.11", "2.0",
         "Preparing to rebalance group {group} with old generation {generation:int} " + _P),
        (RebalanceStarted, "2.1", "3.9",
         "Preparing to rebalance group {group} in state {_state:state}"
         " with old generation {generation:int} " + _P + " (reason: {reason:reason})"),
        (Stabilized, "2.8", "3.9",
         "Stabilized group {group} generation {generation:int} " + _P
         + " with {members:int} members"),
        (Stabilized, "0.11", "2.7", "Stabilized group {group} generation {generation:int} " + _P),
        (Stabilized, "0.9", "0.10", "Stabilized group {group} generation {generation:int}"),
        (AssignmentReceived, "3.0", "3.9",
         "Assignment received from leader {leader} for group {group}"
         " for generation {generation:int}."
         " The group has {members:int} members, {static:int} of which are static."),
        (AssignmentReceived, "2.8", "2.8",
         "Assignment received from leader for group {group} for generation {generation:int}."
         " The group has {members:int} members, {static:int} of which are static."),
        (AssignmentReceived, "0.9", "2.7",
         "Assignment received from leader for group {group} for generation {generation:int}"),
        (GroupEmptied, "0.11", "3.9",
         "Group {group} with generation {generation:int} is now empty " + _P),
        (GroupEmptied, "0.10", "0.10",
         "Group {group} with generation {generation:int} is now empty"),
        (GroupDied, "0.9", "0.10", "Group {group} generation {generation:int} is dead and removed"),
        (GroupDied, "0.10", "3.9",
         "Group {group} transitioned to Dead in generation {generation:int}"),
        (RoundSkipped, "2.3", "3.9", "Group {group} is dead, skipping rebalance stage"),
        (RoundStuck, "2.3", "3.9",
         "Group {group} could not complete rebalance because no members rejoined"),
    ],
)  # fmt: skip

MEMBERS = rows(
    "GroupCoordinator",
    [
        (MemberAdded, "3.0", "3.9",
         "Dynamic Member with unknown member id joins group {group} in {phase:state} state."
         " Created a new member id {member} for this member and add to the group."),
        (IdHandedOut, "2.5", "3.9",
         "Dynamic member with unknown member id joins group {group} in {phase:state} state."
         " Created a new member id {member} and request the member to rejoin with this id."),
        (IdHandedOut, "2.4", "2.4",
         "Dynamic member with unknown member id rejoins group {group} in {phase:state} state."
         " Created a new member id {member} and request the member to rejoin with this id."),
        (MemberAdded, "2.4", "2.4",
         "Dynamic member with unknown member id rejoins group {group} in {phase:state} state."
         " Created a new member id {member} for this member and add to the group."),
        (MemberAdded, "3.0", "3.9",
         "Static member with groupInstanceId={instance}"
         " and unknown member id joins group {group} in {phase:state} state."
         " Created a new member id {member} for this member and add to the group."),
        (MemberAdded, "2.5", "2.8",
         "Static Member with unknown member id joins group {group} in {phase:state} state."
         " Created a new member id {member} for this member and add to the group.",
         {"instance": "(not printed)"}),
        (MemberAdded, "3.0", "3.9",
         "Pending dynamic member with id {member} joins group {group} in {phase:state} state."
         " Adding to the group now.",
         {"fresh": False}),
        (MemberAdded, "2.5", "2.8",
         "Dynamic Member with specific member id {member} joins group {group}"
         " in {phase:state} state."
         " Adding to the group now.",
         {"fresh": False}),
        (Noted, "2.5", "2.8",
         "Adding new static member {_instance} to group {group} with member id {_member}.",
         {"what": "static member added"}),
        (StaticReplaced, "3.0", "3.9",
         "Static member with groupInstanceId={instance}"
         " and unknown member id joins group {group} in {phase:state} state."
         " Replacing previously mapped member {old} with this groupInstanceId."),
        (StaticReplaced, "2.5", "2.8",
         "Static member {instance:option} of group {group} with unknown member id rejoins,"
         " assigning new member id {new}, while old member id {old} will be removed."),
        (StaticReplaced, "2.3", "2.4",
         "Static member {instance:option} with unknown member id rejoins,"
         " assigning new member id {new}, while old member {old} will be removed."),
        (StaticKept, "2.7", "3.9",
         "Static member which joins during Stable stage and doesn't affect selectProtocol will"
         " not trigger rebalance."),
        (StaticKept, "2.3", "2.6",
         "Static member joins during {phase:state} stage will not trigger rebalance."),
        (MemberLeft, "3.2", "3.9",
         "Member " + _MEMBER
         + " has left group {group} through explicit `LeaveGroup`; client reason: {client_reason}",
         {"late": True}),
        (MemberLeft, "3.0", "3.1",
         "Member " + _MEMBER + " has left group {group} through explicit `LeaveGroup` request",
         {"late": True}),
        (MemberLeft, "3.0", "3.9",
         "Pending member with memberId={member}"
         " has left group {group} through explicit `LeaveGroup` request",
         {"pending": True, "late": True}),
        (MemberLeft, "2.4", "2.8",
         "Member[group.instance.id {instance:option}, member.id {member}] in group {group}"
         " has left, removing it from the group"),
        (MemberLeft, "1.0", "2.3",
         "Member {member} in group {group} has left, removing it from the group"),
        (MemberLeft, "2.2", "2.8",
         "Pending member {member} is leaving group {group}.",
         {"pending": True}),
        (MemberExpired, "1.0", "3.9",
         "Member {member} in group {group} has failed, removing it from the group"),
        (MemberExpired, "0.11", "0.11", "Member {member} in group {group} has failed"),
        (MemberExpired, "2.2", "3.9",
         "Pending member {member} in group {group} has been removed"
         " after session timeout expiration.",
         {"pending": True}),
        (NotRejoined, "2.8", "3.9",
         "Group {group} removed dynamic members who haven't joined: {members:ids}"),
        (NotRejoined, "2.7", "2.7",
         "Group {group} remove dynamic members who haven't joined: {members:ids}"),
        (NotSynced, "3.0", "3.9",
         "Group {group} removed members who haven't sent their sync request: {members:ids}"),
        (Fenced, "3.0", "3.9",
         "Request memberId={member} for static member with groupInstanceId={instance}"
         " is fenced by current memberId={current} during operation {operation}"),
        (JoinRejected, "2.2", "3.9",
         "Attempt to add rejoining member {member} of group {group}"
         " in unexpected group state {phase:state}"),
        (EmptyAssignment, "2.5", "3.9",
         "Setting empty assignments for members {members:ids} of {group}"
         " for generation {generation:int}"),
        (EmptyAssignment, "2.5", "3.9",
         "Sending empty assignment to member {members:ids} of {group}"
         " for generation {generation:int} with no errors"),
        (AppendFailed, "0.10", "3.9", "Failed to write empty metadata for group {group}: {error}"),
        (AppendFailed, "2.7", "3.9",
         "Failed to persist metadata for group {group}: {error}",
         {"reverted_to": "(not printed)"}),
    ],
)  # fmt: skip

METADATA = rows(
    "GroupMetadata",
    [
        (LeaderReplaced, "2.3", "3.9",
         "Group leader [member.id: {old}, group.instance.id: {_instance}] failed to join"
         " before rebalance timeout, while new leader {new} was elected."),
        (LeaderReplaced, "2.3", "3.9",
         "Group leader [member.id: {old}, group.instance.id: {_instance}] failed to join"
         " before rebalance timeout, and the group couldn't proceed"
         " to next generationbecause no member joined."),
        (Fenced, "2.5", "2.8",
         "given member.id {member} is identified as a known static member {instance},"
         " but not matching the expected member.id {current} during {operation},"
         " will respond with instance fenced error"),
        (Fenced, "2.3", "2.4",
         "given member.id {member} is identified as a known static member {instance},but"
         " not matching the expected member.id {current}"),
        (MemberLoaded, "2.8", "3.9",
         "Loaded member " + _MEMBER + " in group {group} with generation {generation:int}."),
        (MemberLoaded, "2.5", "2.7",
         "Static member MemberMetadata(memberId={_id}, groupInstanceId={instance:option},"
         " clientId={_client}, clientHost={_host}, sessionTimeoutMs={session:int},"
         " rebalanceTimeoutMs={rebalance:int},"
         " supportedProtocols={protocols:assignors}).groupInstanceId"
         " of group {group} loaded with member id {member} at generation {generation:int}."),
        (Noted, "2.1", "3.9", "Expired offsets from group '{_rest}", {"what": "offsets expired"}),
        (Noted, "3.4", "3.9", "Failed to invoke {_rest}", {"what": "callback failed"}),
        (Noted, "2.4", "3.9",
         "Failed to parse Consumer Protocol {_rest}",
         {"what": "subscription not readable"}),
    ],
)  # fmt: skip

MANAGER = rows(
    "GroupMetadataManager",
    [
        (GroupLoaded, "0.9", "3.9",
         "Loading group metadata for {group} with generation {generation:int}"),
        (GroupUnloaded, "0.9", "3.9",
         "Unloading group metadata for {group} with generation {generation:int}"),
        (PartitionTaken, "3.0", "3.9",
         "Elected as the group coordinator for partition {partition:int} in epoch {_epoch}"),
        (PartitionTaken, "2.8", "2.8",
         "Elected as the group coordinator for partition {partition:int}"),
        (PartitionGiven, "3.0", "3.9",
         "Resigned as the group coordinator for partition {partition:int} in epoch {_epoch}"),
        (PartitionGiven, "2.8", "2.8",
         "Resigned as the group coordinator for partition {partition:int}"),
        (PartitionTaken, "3.0", "3.9",
         "Scheduling loading of offsets and group metadata"
         " from __consumer_offsets-{partition:int} for epoch {_epoch}"),
        (PartitionTaken, "0.11", "2.8",
         "Scheduling loading of offsets and group metadata"
         " from __consumer_offsets-{partition:int}"),
        (PartitionTaken, "0.9", "0.10",
         "Loading offsets and group metadata from __consumer_offsets-{partition:int}"),
        (PartitionTaken, "0.9", "0.10",
         "Loading offsets and group metadata from [__consumer_offsets,{partition:int}]"),
        (PartitionGiven, "0.11", "3.9",
         "Scheduling unloading of offsets and group metadata"
         " from __consumer_offsets-{partition:int}"),
        (LoadFailed, "0.9", "3.9", "Error loading offsets from __consumer_offsets-{partition:int}"),
        (LoadFailed, "0.9", "3.9",
         "Error in loading offsets from [__consumer_offsets,{partition:int}]"),
        (GroupsDeleted, "2.0", "3.9",
         "The following groups were deleted: {groups:names}."
         " A total of {_count:int} offsets were removed."),
        (GroupsDeleted, "1.1", "1.1", "The following groups were deleted: {groups:names}"),
        (CoordinatorStarted, "0.9", "3.9", "Starting up."),
        (CoordinatorStopped, "0.9", "3.9", "Shutting down."),
        (Noted, "0.9", "3.9", "Startup complete.", {"what": "started"}),
        (Noted, "0.9", "3.9", "Shutdown complete.", {"what": "stopped"}),
        *(
            (Noted, "0.9", "3.9", opening + "{_rest}", {"what": what})
            for opening, what in (
                ("Finished loading ", "loaded"),
                ("Finished unloading ", "unloaded"),
                ("Started loading offsets ", "loading"),
                ("Started unloading offsets ", "unloading"),
                ("Already loading offsets ", "loading"),
                ("Offset load from ", "loading"),
                ("Not loading offsets ", "stale election"),
                ("Not removing offsets ", "stale election"),
                ("Attempted to load offsets ", "loading"),
                ("No log found for ", "loading"),
                ("Loaded offsets and group metadata ", "loading"),
                ("Loaded group metadata ", "loading"),
                ("Unknown message key ", "loading"),
                ("Error loading offsets ", "load failed"),
                ("Error in loading offsets ", "load failed"),
                ("Attempt to load group ", "loading"),
                ("Removed ", "offsets expired"),
                ("Collecting expired offsets", "offsets expired"),
                ("Found ", "offsets expired"),
                ("The following offsets of the group ", "offsets deleted"),
                ("Failed to append ", "tombstones not written"),
                ("Failed to mark ", "tombstones not written"),
                ("BrokerId ", "no longer coordinator"),
                ("Offset commit ", "commit failed"),
                ("Appending metadata message ", "append failed"),
                ("Metadata from group ", "append failed"),
                ("Could not fetch offsets ", "not coordinator"),
                ("Member id ", "late timer"),
                ("Received notification of heartbeat expiration ", "late timer"),
                ("Received unexpected notification of sync expiration ", "late timer"),
                ("group: ", "mixed commits"),
            )
        ),
        (Noted, "2.2", "3.9",
         "Member {_member} has already been removed from the group.",
         {"what": "late timer"}),
        (Noted, "0.11", "3.9",
         "Group {_group} has moved away from {_rest}",
         {"what": "no longer coordinator"}),
    ],
)  # fmt: skip

SCALA = Table((*ROUNDS, *MEMBERS, *METADATA, *MANAGER))
