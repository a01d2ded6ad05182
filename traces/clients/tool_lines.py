"""Lines in which kafka-consumer-groups.sh says what became of a change that it was asked for. They
are no client's log: `group_tables` reads them, with the groups that they name.
"""

from __future__ import annotations

import re

_FAILED = re.compile(
    r"Error: (?:Deletion of some consumer groups failed|Encounter(?:ed)? some (?:unknown error"
    r"|partition.level error)|Access to '.{1,249}' is not authorized|'.{1,249}' (?:is not valid"
    r"|does not exist)\.\s*\Z|The group is not empty\.\s*\Z|The group id does not exist\.\s*\Z"
    r"|The configured groupId is invalid\.\s*\Z|Group authorization failed\.\s*\Z)"
    r"|\* Group '.{1,249}' could not be deleted due to"
    r"|\bDelete for group '.{1,249}' failed because"
    r"|\bAssignments can only be reset if the group '"
    r"|\bDeleting offsets of a consumer group '.{1,249}' is forbidden"
    r"|\bNo reset plan for group .{1,249} found"
    r"|\bGroup '.{1,249}' is a streams group\. Use kafka-streams-groups"
    r"|failed due to (?:\S+\.)?GroupIdNotFoundException: "
)


def is_refusal(line: str) -> bool:
    """Does the command say in this line that it could not do what it was asked for?"""
    return bool(_FAILED.search(line))
