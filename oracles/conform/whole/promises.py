"""The promises of real members and a real coordinator to the application, checked on the real group
after each step. These are the promises of the model's invariants, checked without the model.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.oracles.conform.whole.look import Look

PROMISES = {
    "one owner": "Two members of the same generation never own the same partition.",
    "committed was processed": "The committed offset is never past what was processed.",
    "accepted is committed": (
        "When the commit of a member that is about to revoke was accepted, its position is"
        " committed. (A commit that is held up on an earlier connection may take it back later.)"
    ),
}


def broken(before: Look, now: Look, processed: int) -> Iterator[tuple[str, str]]:
    """Promises that are broken now, each with what is wrong. `processed`: how many records of the
    watched partition some member has processed.
    """
    owners: dict[tuple[int, int], int] = {}
    for i, member in enumerate(now.members):
        if member.state != "STABLE":
            continue
        for p in (p for p in range(member.owned.bit_length()) if member.owned >> p & 1):
            other = owners.setdefault((member.generation, p), i)
            if other != i:
                yield "one owner", f"members {other} and {i} own partition {p}"
    if now.committed > processed:
        yield (
            "committed was processed",
            f"{now.committed} is committed, {processed} records were processed",
        )
    for i, (was, member) in enumerate(zip(before.members, now.members)):
        accepted = member.committing == "done" != was.committing
        if accepted and 0 <= member.position != now.committed:
            yield (
                "accepted is committed",
                f"member {i} stands at {member.position}, {now.committed} is committed",
            )
