"""The sentences of group coordinators, by the version of Kafka that prints them.

`{n}` is a generation, `{name}` a member, `{names}` several of them, `{phase}` the state of the
group; `<:g:>` and the like are the marks of `template`. A version that does not print a sentence
has an empty one.
"""

from __future__ import annotations

_UNKNOWN = "ynamic member with unknown member id joins group <:g:> in"
_OPEN = "Cannot complete join phase of group <:g:> because"
_METADATA = (
    "MemberMetadata(memberId={name}, groupInstanceId=None, clientId=c, clientHost=/1.1.1.1,"
    " sessionTimeoutMs=6000, rebalanceTimeoutMs=9000, supportedProtocols=List(range))"
)
_LEFT = "has left group through explicit `LeaveGroup` request; client reason: not provided"
_EXPLICIT = "has left group <:g:> through explicit `LeaveGroup`"
_WHY = "; client reason: not provided"

JAVA = {
    "prepare": (
        "Preparing to rebalance group <:g:> in state PreparingRebalance with old generation"
        " <:n{n}:> (reason: {reason})."
    ),
    "id_required": (
        f"D{_UNKNOWN} {{phase}} state. Created a new member id {{name}} and requesting the member"
        " to rejoin with this id."
    ),
    "pending_joins": (
        "Pending dynamic member with id {name} joins group <:g:> in {phase} state. Adding to the"
        " group now."
    ),
    "joins": (
        f"D{_UNKNOWN} state {{phase}}. Created a new member id {{name}} and added the member to the"
        " group."
    ),
    "assigned": (
        "Assignment received from leader {name} for group <:g:> for generation <:n{n}:>. The group"
        " has {members} members, 0 of which are static."
    ),
    "missing": "Group <:g:> removed dynamic members who haven't joined: {names}",
    "stabilized": "Stabilized group <:g:> generation <:n{n}:> with {members} members.",
    "empty": "Group <:g:> with generation <:n{n}:> is now empty.",
    "left": "[Group <:g:>] Member {name} " + _LEFT,
    "pending_left": "[Group <:g:>] Pending member {name} " + _LEFT,
    # printed after the rebalance that it causes
    "left_late": "",
    "pending_left_late": "",
    "expired": "Member {name} in group <:g:> has failed, removing it from the group.",
    "pending_expired": (
        "Pending member {name} in group <:g:> has been removed after session timeout expiration."
    ),
    "unloading": "[GroupId=<:g:>] Unloading group metadata for generation <:n{n}:>.",
    # the number of members is known later
    "loaded": "Loaded classic group <:g:> with {{members}} members.",
    # why a round cannot end yet
    "initial": "",
    "open": "",
    # reasons of rebalances
    "new_member": "Adding new member {name} with group instance id null" + _WHY,
    "leader_again": "Leader {name} re-joining group during {phase}" + _WHY,
    "member_again": "Updating metadata for member {name} during {phase}" + _WHY,
    "left_reason": "explicit `LeaveGroup` request for ({name}) members.",
    "pending_left_reason": "explicit `LeaveGroup` request for ({name}) members.",
    "expired_reason": "removing member {name} on heartbeat expiration.",
    "not_synced": "Removing {names} on pending sync request expiration",
    "append_failed": (
        "Error COORDINATOR_NOT_AVAILABLE when storing group assignment during SyncGroup (member:"
        " {name})"
    ),
}
JAVA_DEBUG = JAVA | {
    "initial": f"{_OPEN} this is an initial rebalance.",
    "open": (
        f"{_OPEN} not all the members have rejoined. Members={{members}},"
        " AwaitingJoinResponses={parked}, PendingJoinMembers={pending}."
    ),
}
JAVA_3_8 = JAVA | {"pending_joins": ""}
SCALA = JAVA_3_8 | {
    "prepare": (
        "Preparing to rebalance group <:g:> in state PreparingRebalance with old generation"
        " <:n{n}:> (__consumer_offsets-7) (reason: {reason})"
    ),
    "id_required": (
        f"D{_UNKNOWN} {{phase}} state. Created a new member id {{name}} and request the member to"
        " rejoin with this id."
    ),
    "joins": (
        "Dynamic Member with unknown member id joins group <:g:> in {phase} state. Created a new"
        " member id {name} for this member and add to the group."
    ),
    "stabilized": (
        "Stabilized group <:g:> generation <:n{n}:> (__consumer_offsets-7) with {members} members"
    ),
    "empty": "Group <:g:> with generation <:n{n}:> is now empty (__consumer_offsets-7)",
    "left": "",
    "pending_left": "",
    "left_late": f"Member {_METADATA} {_EXPLICIT}{_WHY}",
    "pending_left_late": f"Pending member with memberId={{name}} {_EXPLICIT} request",
    "expired": "Member {name} in group <:g:> has failed, removing it from the group",
    "unloading": "Unloading group metadata for <:g:> with generation <:n{n}:>",
    "loaded": "Loading group metadata for <:g:> with generation <:n{n}:>",
    "new_member": "Adding new member {name} with group instance id None" + _WHY,
    "left_reason": "Removing member {name} on LeaveGroup" + _WHY,
    "pending_left_reason": "",
    "expired_reason": "removing member {name} on heartbeat expiration",
}
SCALA_2_4 = SCALA | {
    "id_required": "",
    "joins": "",
    "assigned": "Assignment received from leader for group <:g:> for generation <:n{n}:>",
    "missing": "",
    "stabilized": "Stabilized group <:g:> generation <:n{n}:> (__consumer_offsets-7)",
    "left": (
        "Member[group.instance.id None, member.id {name}] in group <:g:> has left, removing it from"
        " the group"
    ),
    "pending_left": "Pending member {name} is leaving group <:g:>.",
    "left_late": "",
    "pending_left_late": "",
    "new_member": "Adding new member {name} with group instanceid None",
    "leader_again": "Updating metadata for member {name}",
    "member_again": "Updating metadata for member {name}",
    "left_reason": "removing member {name} on LeaveGroup",
    "append_failed": ("error when storing group assignment during SyncGroup (member: {name})"),
}
SCALA_1_1 = SCALA_2_4 | {
    "prepare": (
        "Preparing to rebalance group <:g:> with old generation <:n{n}:> (__consumer_offsets-7)"
    ),
    "left": "",
    "pending_left": "",
    "pending_expired": "",
}
