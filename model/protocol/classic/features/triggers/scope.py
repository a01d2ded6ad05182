"""The scope of a group with triggers: several topics, subscriptions, other lists of assignors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import ClassVar

from attrs import frozen

from groupcheck.model.engine import ScopeError
from groupcheck.model.protocol.bounds import bound, is_a
from groupcheck.model.protocol.classic.scope import Scope

PATTERN = "*"
_PATTERN = re.compile(r"(?:[A-Za-z]\w*)?\*")
MORE: Mapping[str, str] = {
    "subscribe": "A member's application subscribes to other topics than before.",
    "add_partitions": "A topic gets one more partition.",
    "create_topic": "A topic that does not exist is created.",
    "delete_topic": (
        "A topic is deleted. (Created again, it may have fewer partitions than before.)"
    ),
    "lower_max_size": (
        "The coordinator moves to a broker whose group.max.size is smaller by one; the move is a"
        " fail_over of its own."
    ),
    "change_assignors": (
        "A process that is down, and that the group has forgotten, starts again with another list"
        " of assignors."
    ),
}


@frozen
class Topic:
    """A topic with room for its partitions in a bit mask."""

    name: str
    # Its bit in masks of topics.
    bit: int
    # The number of its first partition.
    first: int
    # How many partitions it has at the beginning; 0: it does not exist.
    begins: int
    # The most partitions that it may have.
    most: int

    def mask(self, partitions: int) -> int:
        """So many of its partitions."""
        return ((1 << partitions) - 1) << self.first

    @property
    def whole(self) -> int:
        """All partitions that it may have."""
        return self.mask(self.most)


_TOPIC = re.compile(r"([A-Za-z]\w*):(\d{1,5})(?:-(\d{1,5}))?")


@cache
def _laid_out(topics: str) -> tuple[Topic, ...]:
    """The topics that a text such as `t:1-2,u:0-1` means, in its order."""
    found: list[Topic] = []
    first = 0
    for k, text in enumerate(topics.split(",")):
        said = _TOPIC.fullmatch(text)
        assert said is not None
        name, begins, most = said.groups()
        size = max(int(most or begins), 1)
        found.append(Topic(name, 1 << k, first, int(begins), size))
        first += size
    return tuple(found)


@frozen(slots=False)
class TriggersScope(Scope):
    """The bounds of a run, with topics and subscriptions."""

    MORE: ClassVar[Mapping[str, str]] = MORE

    topics: str = bound(
        "t:1-2,u:0-1",
        "The topics, each with its partitions at the beginning and the most that it may have:"
        " `t:1-2,u:0-1`. A topic with 0 does not exist yet.",
        is_a(str, "not a text"),
    )
    subscriptions: str = bound(
        "",
        "The topics to which each member subscribes at the beginning, if not all to all: `t|t,u|*`"
        " for three members. `*` is a pattern that matches every topic, `test*` one that matches"
        " those whose names begin so.",
        is_a(str, "not a text"),
    )
    protocols_after: str = bound(
        "",
        "What each member lists after change_assignors, in the form of `protocols`.",
        is_a(str, "not a text"),
    )

    def __attrs_post_init__(self) -> None:
        if self.partitions is not None:
            raise ScopeError(
                "partitions are those of the topics here", where="scope", do="give topics=t:2"
            )
        if not all(_TOPIC.fullmatch(text) for text in self.topics.split(",")):
            raise ScopeError(
                f"topics {self.topics!r} do not say what is there", where="scope", do="as t:1-2,u:1"
            )
        names = [topic.name for topic in self.layout]
        if len({*names}) < len(names) or self.partition_count > 30:
            raise ScopeError(
                f"topics {self.topics!r} have a name twice, or more than 30 partitions",
                where="scope",
            )
        if any(topic.begins > topic.most for topic in self.layout):
            raise ScopeError(
                f"topics {self.topics!r} begin with more partitions than they may have",
                where="scope",
                do="write the smaller number first",
            )
        super().__attrs_post_init__()
        self._subscriptions_fit(names)
        self._lists_fit()

    def _subscriptions_fit(self, names: list[str]) -> None:
        told = self.subscriptions.split("|") if self.subscriptions else []
        known = all(
            any(name.startswith(text.removesuffix(PATTERN)) for name in names)
            if _PATTERN.fullmatch(text)
            else all(name in names for name in text.split(","))
            for text in told
        )
        if told and (len(told) != self.members or not known):
            raise ScopeError(
                f"subscriptions {self.subscriptions!r} do not say to which of"
                f" {', '.join(names)} each of {self.members} members subscribes",
                where="scope",
                do="as in t|t,u for two members, * or t* for a pattern",
            )

    def _lists_fit(self) -> None:
        after = self.protocols_after
        right = all(name for names in self.lists_after for name in names)
        if after and (not self.protocols or len(self.lists_after) != self.members or not right):
            raise ScopeError(
                f"protocols_after {after!r} does not list the assignors of {self.members} members"
                " whose first lists are in protocols",
                where="scope",
                do="as in protocols=range|range and protocols_after=range,sticky|sticky",
            )

    @property
    def layout(self) -> tuple[Topic, ...]:
        """The topics, in the order given."""
        return _laid_out(self.topics)

    @property
    def partition_count(self) -> int:
        """The partitions that there may be, whether they exist at the beginning or not."""
        return sum(topic.most for topic in self.layout)

    @property
    def partition_names(self) -> tuple[tuple[str, int], ...]:
        """Topic and number of each partition."""
        return tuple([(topic.name, p) for topic in self.layout for p in range(topic.most)])

    @property
    def lists_after(self) -> tuple[tuple[str, ...], ...]:
        """The assignors that each member lists after change_assignors; empty if none are given."""
        after = self.protocols_after
        return tuple(tuple(names.split(",")) for names in after.split("|")) if after else ()

    @property
    def assignors_listed(self) -> tuple[str, ...]:
        """All assignors that some member lists at any time, in alphabetical order."""
        listed = (*self.lists, *self.lists_after)
        return tuple(sorted({name for names in listed for name in names}))

    # -- masks

    @property
    def all_topics(self) -> int:
        return (1 << len(self.layout)) - 1

    @property
    def cluster(self) -> int:
        """The partitions that exist at the beginning."""
        return sum(topic.mask(topic.begins) for topic in self.layout)

    def partitions_of(self, topics: int) -> int:
        """All partitions that these topics may have."""
        return sum(topic.whole for topic in self.layout if topics & topic.bit)

    def topics_of(self, partitions: int) -> int:
        """The topics of these partitions."""
        return sum(topic.bit for topic in self.layout if partitions & topic.whole)

    def _told(self, member: int) -> str:
        """What `subscriptions` says of a member; empty if it is left out."""
        return self.subscriptions.split("|")[member] if self.subscriptions else ""

    def prefix(self, member: int) -> str | None:
        """How the names of topics begin that a member's pattern matches; None if it has none."""
        told = self._told(member)
        return told.removesuffix(PATTERN) if told.endswith(PATTERN) else None

    def subscribed(self, member: int) -> tuple[int, int]:
        """The topics of a member's first subscription, and those that its pattern matches, if it
        has one (see `Subscription`).
        """
        told = self._told(member)
        if (begins := self.prefix(member)) is not None:
            return 0, sum(t.bit for t in self.layout if t.name.startswith(begins))
        wanted = set(told.split(",")) if told else {topic.name for topic in self.layout}
        return sum(topic.bit for topic in self.layout if topic.name in wanted), 0
