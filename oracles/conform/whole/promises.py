"""What real members and a real coordinator promise the application, checked on the real group after
each step. These are the promises of the model's invariants, checked without the model.
"""

from __future__ import annotations

from collections.abc import Iterator

from groupcheck.oracles.conform.whole.fitting import Look, share
from groupcheck.oracles.conform.whole.turns import WATCHED

PROMISES = {
    "one owner": "Two members of the same generation never own the same partition.",
    "committed was processed": "The committed offset is never past what was processed.",
    "accepted is committed": (
        "When the commit of a member that is about to revoke was accepted, its position is"
        " committed. (A commit that is held up on an earlier connection may take it back later.)"
    ),
}


def position(member: Look) -> int:
    """The next record of the watched partition; -1 if the member has none."""
    return int(member["positions"].get("t", {}).get(str(WATCHED), -1))


def broken(before: Look, now: Look, processed: int) -> Iterator[tuple[str, str]]:
    """Promises that are broken now, each with what is wrong. `processed`: how many records of the
    watched partition some member has processed.
    """
    owners: dict[tuple[int, int], int] = {}
    for i, member in enumerate(now["members"]):
        if member["state"] != "STABLE":
            continue
        owned = share(member["owned"])
        for p in (p for p in range(owned.bit_length()) if owned >> p & 1):
            other = owners.setdefault((member["generation"], p), i)
            if other != i:
                yield "one owner", f"members {other} and {i} own partition {p}"
    if now["committed"] > processed:
        yield (
            "committed was processed",
            f"{now['committed']} is committed, {processed} records were processed",
        )
    for i, (was, member) in enumerate(zip(before["members"], now["members"])):
        accepted = member["committing"] == "done" != was["committing"]
        if accepted and 0 <= position(member) != now["committed"]:
            yield (
                "accepted is committed",
                f"member {i} stands at {position(member)}, {now['committed']} is committed",
            )
