"""Lines of the new coordinator about groups of other protocols: consumer (KIP-848), share
(KIP-932), streams (KIP-1071), and migration between them.

Enough to tell such a group's timeline: who came and went, and the epochs. Sentences that several
protocols share have an empty protocol.
"""

from __future__ import annotations

from groupcheck.traces.broker.grammar import rows
from groupcheck.traces.story.events import (
    Converted,
    GroupLoaded,
    GroupUnloaded,
    MemberLoaded,
    Noted,
    OtherProtocol,
)

_G = "[GroupId {group}] "
_GM = "[GroupId {group}][MemberId {member}] "
_ANY = {"protocol": ""}
_CONSUMER = {"protocol": "consumer"}
_SHARE = {"protocol": "share"}
_STREAMS = {"protocol": "streams"}
_LEAVE = " has left group through explicit `LeaveGroup` request; client reason: {detail}"

EPOCHS = rows(
    "GroupMetadataManager",
    [
        (OtherProtocol, "4.1", "now",
         _G + "Bumped group epoch to {epoch:int} with metadata hash {_hash}",
         _ANY | {"what": "epoch"}),
        (OtherProtocol, "3.6", "4.0",
         _G + "Bumped group epoch to {epoch:int}.",
         _ANY | {"what": "epoch"}),
        (OtherProtocol, "3.7", "now",
         _G + "Computed a new target assignment for epoch {epoch:int}"
         " with '{detail}' assignor in {_took:int}ms: {shares:shares}",
         _ANY | {"what": "target"}),
        (OtherProtocol, "3.7", "now",
         _G + "Computed a new target assignment for epoch {epoch:int}"
         " with '{detail}' assignor{_rest}",
         _ANY | {"what": "target"}),
        (OtherProtocol, "3.6", "3.6",
         _G + "Computed a new target assignment for epoch {epoch:int}: {_rest}",
         _ANY | {"what": "target"}),
        (OtherProtocol, "3.6", "now",
         _G + "Failed to compute a new target assignment for epoch {epoch:int}{detail}",
         _ANY | {"what": "no target"}),
        (OtherProtocol, "3.8", "now",
         _G + "Member {member} new assignment state: epoch={epoch:int},"
         " previousEpoch={_previous:int}, state={detail:word}, assignedPartitions={owns:held}"
         " and revokedPartitions={revoking:held}.",
         _CONSUMER | {"what": "assignment"}),
        (OtherProtocol, "3.8", "now",
         _G + "Member {member} new assignment state: epoch={epoch:int},"
         " previousEpoch={_previous:int}, state={detail:word}, {_rest}",
         _ANY | {"what": "assignment"}),
        (OtherProtocol, "3.6", "3.7",
         _G + "Member {member} transitioned from {_before}"
         " to CurrentAssignment(memberEpoch={epoch:int}, {_rest}",
         _CONSUMER | {"what": "assignment"}),
        (OtherProtocol, "4.1", "now",
         _GM + "Member's new assignment state: epoch={epoch:int}, previousEpoch={_previous:int},"
         " state={detail:word}, assignedTasks=(active={owns:held}, standby={_standby})"
         " and tasksPendingRevocation=(active={revoking:held}, standby={_rest}",
         _STREAMS | {"what": "assignment"}),
        (OtherProtocol, "4.1", "now",
         _GM + "Member's new assignment state: epoch={epoch:int}, previousEpoch={_previous:int},"
         " state={detail:word}, {_rest}",
         _STREAMS | {"what": "assignment"}),
        (OtherProtocol, "4.1", "now",
         _GM + "Bumped streams group epoch to {epoch:int} {_rest}",
         _STREAMS | {"what": "epoch"}),
    ],
)  # fmt: skip

CAME_AND_WENT = rows(
    "GroupMetadataManager",
    [
        *((OtherProtocol, "3.6", "now", _G + sentence, fixed) for sentence, fixed in (
            ("Member {member} joins the consumer group using the {detail:word} protocol.",
             _CONSUMER | {"what": "joined"}),
            ("Member {member} joins the consumer group.", _CONSUMER | {"what": "joined"}),
            ("Static member {member} with instance id {_instance}"
             " joins the consumer group using the {detail:word} protocol.",
             _CONSUMER | {"what": "joined"}),
            ("Static member {member} with instance id {_instance} joins the consumer group.",
             _CONSUMER | {"what": "joined"}),
            ("Static member {member} with instance id {_instance} re-joins the consumer group.",
             _CONSUMER | {"what": "rejoined"}),
            ("Static member with instance id {_instance} re-joins the consumer group"
             " using the {_with:word} protocol."
             " Created a new member {member} to replace the existing member {detail}.",
             _CONSUMER | {"what": "rejoined"}),
            ("Static member with unknown member id and instance id {_instance}"
             " re-joins the consumer group."
             " Created a new member {member} to replace the existing member {detail}.",
             _CONSUMER | {"what": "rejoined"}),
            ("Dynamic member with unknown member id joins the consumer group."
             " Created a new member id {member} and requesting the member to rejoin with this id.",
             _CONSUMER | {"what": "id handed out"}),
            ("Member {member} left the consumer group.", _CONSUMER | {"what": "left"}),
            ("Static Member {member} with instance id {_instance}"
             " temporarily left the consumer group.",
             _CONSUMER | {"what": "away"}),
            ("Static member {member} with instance id {_instance}"
             " temporarily left the consumer group.",
             _CONSUMER | {"what": "away"}),
            ("Static Member {member} with instance id {_instance} left the consumer group.",
             _CONSUMER | {"what": "left"}),
            ("Static member {member} with instance id {_instance} left the consumer group.",
             _CONSUMER | {"what": "left"}),
            ("Static member {member} with instance id {_instance}" + _LEAVE,
             _CONSUMER | {"what": "left"}),
            ("Dynamic member {member}" + _LEAVE, _CONSUMER | {"what": "left"}),
            ("Member {member} fenced from the group because {detail}", _ANY | {"what": "fenced"}),
            ("Streams member {member} fenced from the group because {detail}",
             _STREAMS | {"what": "fenced"}),
            ("Static member {member} with instance id {_instance} cannot join the group"
             " because {detail}",
             _CONSUMER | {"what": "refused"}),
            ("Static member {member} with instance id {_instance}"
             " is fenced by existing member {detail}.",
             _CONSUMER | {"what": "refused"}),
            ("Member {member} joins the share group using the share protocol.",
             _SHARE | {"what": "joined"}),
            ("Member {member} left the share group.", _SHARE | {"what": "left"}),
            ("Member {member} updated its {_rest}", _ANY | {"what": "subscription"}),
        )),
        *((OtherProtocol, "4.1", "now", _GM + sentence, _STREAMS | {"what": what})
          for sentence, what in (
            ("Member joins the streams group.", "joined"),
            ("Static member {_again} with instance id {_instance} joins the streams group.",
             "joined"),
            ("Static member with instance id {_instance} re-joins the streams group"
             " using the streams protocol."
             " Created a new member {_again} to replace the existing member {detail}.",
             "rejoined"),
            ("Member {_again} left the streams group.", "left"),
            ("Static member {_again} with instance id {_instance}"
             " temporarily left the streams group.",
             "away"),
            ("Static member {_again} with instance id {_instance} left the streams group.", "left"),
            ("Member updated its member met{_rest}", "subscription"),
            ("Member initialized the topology {_rest}", "topology"),
            ("Member joined with {_rest}", "topology"),
            ("Configuring the topology {_rest}", "topology"),
            ("Assignment configurations changed to {_rest}", "configuration"),
        )),
        (OtherProtocol, "4.1", "now",
         _GM + "Computed new metadata hash: {_hash}",
         _ANY | {"what": "metadata"}),
        (OtherProtocol, "3.8", "3.9",
         "[Group {group}] Dynamic Member {member}" + _LEAVE,
         _CONSUMER | {"what": "left"}),
        (OtherProtocol, "3.8", "3.9",
         "[Group {group}] Static Member {member} with instance id {_instance}" + _LEAVE,
         _CONSUMER | {"what": "left"}),
        *((OtherProtocol, "3.6", "now", _G + opening + "{_rest}", fixed) for opening, fixed in (
            ("Computed new subscription metadata: ", _CONSUMER | {"what": "metadata"}),
            ("Computed new metadata hash: ", _ANY | {"what": "metadata"}),
            ("Refreshing regular expressions: ", _CONSUMER | {"what": "regex"}),
            ("Scanned ", _CONSUMER | {"what": "regex"}),
            ("Couldn't ", _CONSUMER | {"what": "regex"}),
            ("Received ", _CONSUMER | {"what": "regex"}),
            ("Could not fence ", _ANY | {"what": "late timer"}),
            ("Ignoring ", _ANY | {"what": "late timer"}),
            ("Cannot compute delayed target assignment", _ANY | {"what": "late timer"}),
            ("Skipping delayed target assignment", _ANY | {"what": "late timer"}),
            ("Group not found during initial rebalance", _STREAMS | {"what": "late timer"}),
            ("The configured task assignor ", _STREAMS | {"what": "configuration"}),
            ("The refined assignment ", _STREAMS | {"what": "configuration"}),
        )),
    ],
)  # fmt: skip

MIGRATION = rows(
    "GroupMetadataManager",
    [
        (Converted, "4.0", "now",
         _G + "Converted the empty classic group to a {protocol:word} group.",
         {"was_empty": True}),
        (Converted, "4.0", "now", _G + "Converted the classic group to a {protocol:word} group."),
        (Converted, "4.0", "now",
         _G + "Converted the empty {_from:word} group to a classic group.",
         {"protocol": "classic", "was_empty": True}),
        (Converted, "4.0", "now",
         _G + "Converted the {_from:word} group to a classic group.",
         {"protocol": "classic"}),
        (GroupLoaded, "3.6", "now",
         "Loaded consumer group {group} with {members:int} members.",
         _CONSUMER),
        (GroupLoaded, "4.1", "now",
         "Loaded share group {group} with {members:int} members.",
         _SHARE),
        (GroupLoaded, "4.1", "now",
         "Loaded streams group {group} with {members:int} members.",
         _STREAMS),
        (MemberLoaded, "3.6", "now",
         "Loaded member {member} in consumer group {group}.",
         _CONSUMER),
        (MemberLoaded, "4.1", "now", "Loaded member {member} in share group {group}.", _SHARE),
        (MemberLoaded, "4.1", "now", "Loaded member {member} in streams group {group}.", _STREAMS),
        (GroupUnloaded, "3.8", "now",
         "[GroupId={group}] Unloaded group metadata for group epoch {generation:int}.",
         {"protocol": "other"}),
        *((Noted, "3.6", "now", opening + "{_rest}", {"what": what}) for opening, what in (
            (_G + "Committing ", "commit"),
            (_G + "Expired offset ", "offsets expired"),
            (_G + "Creating a simple consumer group ", "simple group"),
        )),
        *((Noted, "3.6", "now", opening + "{_rest}", {"what": what}) for opening, what in (
            ("Cannot downgrade ", "migration refused"),
            ("Cannot upgrade ", "migration refused"),
            ("Cannot join the consumer group ", "migration refused"),
            ("Skip downgrading ", "migration refused"),
            ("ConsumerGroupDescribe ", "operation failed"),
            ("ShareGroupMetadata ", "share group"),
            ("ShareGroupMemberMetadata ", "share group"),
            ("ShareGroupCurrentMemberAssignment ", "share group"),
            ("ShareGroupTargetAssignmentMember ", "share group"),
            ("ShareGroupTargetAssignmentMetadata ", "share group"),
            ("ShareGroupStatePartitionMetadata ", "share group"),
            ("Existing deleting entries ", "share group"),
            ("Initializing topic ", "share group"),
            ("Some topics for share group ", "share group"),
            ("Unable to ", "share group"),
            ("Received error while ", "share group"),
            ("Error deleting share group ", "share group"),
            ("Failed to delete share group ", "share group"),
            ("Failed to retrieve ", "share group"),
            ("Failed to read summary ", "share group"),
            ("Result is null ", "share group"),
            ("Partition end offset fetch ", "share group"),
            ("Persister initialization ", "share group"),
            ("Topology-description ", "streams group"),
            ("Failed to finalize Stored", "streams group"),
            ("Failed to apply topology", "streams group"),
            ("Unexpected error scanning streams group ", "streams group"),
        )),
        (OtherProtocol, "3.6", "now", _GM + "{detail}", _ANY | {"what": "message"}),
        (OtherProtocol, "3.6", "now", _G + "{detail}", _ANY | {"what": "message"}),
    ],
)  # fmt: skip

OTHER = (*EPOCHS, *CAME_AND_WENT, *MIGRATION)
