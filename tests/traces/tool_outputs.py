"""What kafka-consumer-groups.sh prints for each of its actions, in the forms of its source:
core/src/main/scala/kafka/admin/ConsumerGroupCommand.scala of 2.0 to 3.7, and
tools/src/main/java/org/apache/kafka/tools/consumer/group/ConsumerGroupCommand.java since.
"""

from __future__ import annotations

from table_shapes import ID, spread

NOT_EMPTY = "org.apache.kafka.common.errors.GroupNotEmptyException: The group is not empty."
_BEHIND = "java.util.concurrent.ExecutionException: "
_RESET_HEAD = ("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET")
_RESET_ROWS = (("orders", "t", "0", "10"), ("orders", "t", "1", "7"), ("stock", "u", "0", "3"))
_IN_USE = (
    "Error: Assignments can only be reset if the group 'audit' is inactive, but the current state"
    " is Stable."
)


def _deleted(error: str, done: str) -> str:
    return (
        f"\nError: Deletion of some consumer groups failed:\n"
        f"* Group 'orders' could not be deleted due to: {error}\n\n"
        f"These consumer groups were deleted successfully: {done}\n"
    )


DELETE_ALL = {
    "2.0": "Deletion of requested consumer groups ('stock', 'audit') was successful.\n",
    "3.8": "Deletion of requested consumer groups ('stock, audit') was successful.\n",
    "4.1": "Deletion of requested consumer groups ('stock', 'audit') was successful.\n",
}
DELETE_SOME = {
    "2.0": _deleted("org.apache.kafka.common.protocol.Errors NON_EMPTY_GROUP", "'stock', 'audit'"),
    "2.4": _deleted(_BEHIND + NOT_EMPTY, "'stock', 'audit'"),
    "3.8": _deleted(_BEHIND + NOT_EMPTY, "'stock'audit', '"),
    "4.1": _deleted(NOT_EMPTY, "'stock', 'audit'"),
}
RESET = {
    "2.4": "\n" + spread("%-30s %-30s %-10s %-15s", _RESET_HEAD, *_RESET_ROWS) + "\n\n",
    "4.1": "\n" + spread("%-15s %-15s %-10s %s", _RESET_HEAD, *_RESET_ROWS) + "\n\n",
}
RESET_SOME = {version: f"\n{_IN_USE}\n{text}" for version, text in RESET.items()}
RESET_OF_ONE = {
    "2.0": "\n" + spread("%-30s %-10s %-15s", *((t, p, o) for _, t, p, o in
                         (_RESET_HEAD, *_RESET_ROWS[:2]))),
}  # fmt: skip
DRY_RUN = (
    "No action will be performed as the --execute option is missing. In a future major release,"
    " the default behavior of this command will be to prompt the user before executing the reset"
    " rather than doing a dry run. You should add the --dry-run option explicitly if you are"
    " scripting this command and want to keep the current default behavior without prompting."
)
_STATUS = (("TOPIC", "PARTITION", "STATUS"), ("t", "0", "Successful"))
DELETE_OFFSETS = {
    "2.4": "Request succeed for deleting offsets with topic t,u group orders\n\n"
    + spread("%-30s %-15s %-15s", *_STATUS, ("u", "1", "Successful")),
    "4.1": "Request succeeded for deleting offsets from group orders.\n\n"
    + spread("%-15s %-10s %-15s", *_STATUS, ("u", "1", "Successful")),
}
_SUBSCRIBED = "The consumer group is actively subscribed to the topic"
DELETE_OFFSETS_SOME = {
    "2.4": "\nError: Encounter some partition level error, see the follow-up details:\n\n"
    + spread("%-30s %-15s %-15s", *_STATUS, ("u", "1", f"Error: {_SUBSCRIBED}")),
    "3.8": "\nError: Encounter some partition level error, see the follow-up details:\n\n"
    + spread("%-30s %-15s %-15s", *_STATUS, ("u", "1", f"Error: :{_BEHIND}{_SUBSCRIBED}")),
    "4.1": "\nError: Encountered some partition-level error, see the follow-up details.\n\n"
    + spread("%-15s %-10s %-15s", *_STATUS, ("u", "-", f"Error: {_SUBSCRIBED}")),
}
_MEMBERS = ("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS")
_INSTANCES = ("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS")
_EPOCHS = ("CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT")
_WIDE = "%-15s %-47s %-17s %-15s %-15s %-15s "
_NARROW = "%-15s %-47s %-15s %-15s %-15s "
_FIVE, _SIX = ("orders", ID, "/10.0.0.1", "c", "3"), ("orders", ID, "i-1", "/10.0.0.1", "c", "3")
MEMBERS = {
    "2.4": "\n" + spread(_NARROW, _MEMBERS, _FIVE),
    "2.4 --verbose": "\n" + spread(_NARROW + "%s", (*_MEMBERS, "ASSIGNMENT"),
                                   (*_FIVE, "t(0,1), u(2)")),
    "2.6": "\n" + spread(_WIDE, _INSTANCES, _SIX),
    # It leaves out the names of the topics.
    "3.8 --verbose": "\n" + spread(_WIDE + "%s", (*_INSTANCES, "ASSIGNMENT"),
                                   (*_SIX, "(0,1), (2)")),
    "4.1 --verbose": "\n" + spread(_NARROW + "%-15s %-20s %-15s %-20s", (*_MEMBERS, *_EPOCHS),
                                   (*_FIVE, "4", "t:0,1;u:2", "4", "t:0,1;u:2")),
    "4.1 --verbose, both kinds": "\n" + spread(
        _NARROW + "%-15s %-20s %-15s %-20s %s", (*_MEMBERS, *_EPOCHS, "UPGRADED"),
        (*_FIVE, "4", "t:0,1;u:2", "4", "t:0,1;u:2", "true"),
        ("orders", ID[:-1] + "x", "/10.0.0.2", "d", "0", "4", "-", "4", "-", "false"),
    ),
}  # fmt: skip
_STATE = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
_STATES = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "GROUP-EPOCH",
           "TARGET-ASSIGNMENT-EPOCH", "#MEMBERS")  # fmt: skip
STATE = {
    "2.0": "\n" + spread("%-25s %-25s %-20s %s", _STATE[1:],
                         ("b:9092 (1)", "range", "Stable", "2")),
    "2.4": "\n" + spread("%-25s %-25s %-20s %-15s %s", _STATE,
                         ("orders", "b:9092 (1)", "range", "Stable", "2")),
    "3.8": "\n" + spread("%-25s %-25s %-20s %-15s %s", _STATE,
                         ("orders", "b:9092  (1)", "range", "Stable", "2")),
    "4.1 --verbose": "\n" + spread("%-15s %-25s %-20s %-20s %-15s %-25s %s", _STATES,
                                   ("orders", "b:9092  (1)", "uniform", "Stable", "4", "4", "2")),
}  # fmt: skip
_FAILED = "Error: Executing consumer group command failed due to "
ERRORS = {
    "2.4, no such group": "\nError: Consumer group 'orders' does not exist.\n",
    "4.1, no such group": f"\n{_FAILED}org.apache.kafka.common.errors.GroupIdNotFoundException:"
    " Group orders not found.\n",
    "no plan": "\nError: No reset plan for group orders found\n",
    "4.1, streams": "\nError: Group 'orders' is a streams group. Use kafka-streams-groups.sh to"
    " reset its offsets.\n",
    "not allowed": "\nError: Access to 'orders' is not authorized.\n",
    "not valid": "\nError: 'orders' is not valid.\n",
    "2.4 does not exist": "\nError: 'orders' does not exist.\n",
    "in use": "\nError: Deleting offsets of a consumer group 'orders' is forbidden if the group is"
    " not empty.\n",
    "unknown": "\nError: Encounter some unknown error: COORDINATOR_NOT_AVAILABLE\n",
    "4.1 unknown": "\nError: Encountered some unknown error: COORDINATOR_NOT_AVAILABLE\n",
    "4.1 in use": "\nError: The group is not empty.\n",
}
