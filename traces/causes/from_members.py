"""What the lives of members show, as statements like those of lines."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from groupcheck.traces.clients.said import Said
from groupcheck.traces.members.members import Followed


def statements(followed: Followed) -> Iterator[Said]:
    """Everything that a cause may ask for."""
    for early in followed.early:
        fields = {"after": early.after, "limit": early.limit}
        yield evolve(early.lapse.learnt, kind="removed_early", fields=fields)
    for one in followed.impossible:
        place = f"line {one.said.line}" + (f" of {one.said.log}" if one.said.log else "")
        told = {"place": place, "told": one.text}
        yield evolve(one.said, kind="impossible_line", fields=told)
        yield evolve(one.against, kind="impossible_line", fields=told)
