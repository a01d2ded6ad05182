"""Knowledge about a group's members, as far as a log tells, and its open ends.

There are ids that are certainly members, ids that were handed out and may have joined without a
line that says so, and members whose ids the log has not shown. The last two are counted by
intervals. So one belief stands for every set of members that fits, and it is never narrower than
what the coordinator may hold. What cannot fit is refused with a sentence that says why.
"""

from __future__ import annotations

from math import inf

from attrs import Factory, define, frozen

GOING = ("NotRejoined", "MemberLeft", "MemberExpired")
COMING = ("IdHandedOut", "MemberAdded")
"""Kinds of lines (names of events) by which members go, and come."""


@frozen
class Misfit:
    """Why something cannot be."""

    text: str
    # Kinds of lines; one of them that is missing would explain it.
    lost: tuple[str, ...] = ()


@define
class Belief:
    """Knowledge about the members. An upper bound of `inf` stands for any number."""

    # Members: id -> is its JoinGroup certainly parked in the running round?
    inside: dict[str, bool] = Factory(dict)
    # Ids that were handed out.
    handed: dict[str, None] = Factory(dict)
    # Members that the log shows to be static (id -> instance id), or dynamic.
    static: dict[str, str] = Factory(dict)
    dynamic: dict[str, None] = Factory(dict)
    # How many of `handed` are members.
    joined_least: int = 0
    joined_most: int = 0
    # How many members have no name yet.
    others_least: int = 0
    others_most: float = inf
    # Ids that were handed out before the log begins may still appear.
    strangers: bool = True
    # The leader, if the log shows it.
    leader: str | None = None
    # The largest size printed so far.
    largest: int = 0
    # How many members the running round may have had at most.
    peak: float = 0

    def least(self) -> int:
        return len(self.inside) + self.joined_least + self.others_least

    def most(self) -> float:
        return len(self.inside) + self.joined_most + self.others_most

    def size(self) -> str:
        """`3`, `2 to 5` or `2 or more`."""
        least, most = self.least(), self.most()
        if most == inf:
            return f"{least} or more"
        return str(least) if least == most else f"{least} to {most}"

    def not_parked(self) -> tuple[str, ...] | None:
        """The members whose JoinGroup is not known to be parked; None if some have no name."""
        if self.others_most or self.joined_most:
            return None
        return tuple(id for id, waits in self.inside.items() if not waits)

    # --- ids come

    def hand_out(self, id: str) -> None:
        if id not in self.inside:
            self.handed[id] = None

    def join(
        self, id: str, *, instance: str | None = None, known_ids: bool = True
    ) -> Misfit | None:
        """A member joins for the first time, and its JoinGroup is parked. `known_ids`: the log
        prints every id that is handed out.
        """
        if id in self.inside:
            return Misfit(f"{id} is a member already")
        if self.most() == 0:
            self.leader = id  # the first member leads
        if id in self.handed:
            self._take_handed(id, was_member=False)
        elif known_ids and not self.strangers and instance is None:
            return Misfit(f"no line hands out the id {id}", COMING)
        self.inside[id] = True
        if instance is not None:
            self.static[id] = instance
        else:
            self.dynamic[id] = None
        return None

    def _take_handed(self, id: str, *, was_member: bool) -> None:
        del self.handed[id]
        n = len(self.handed)
        if was_member:
            self.joined_least = max(self.joined_least - 1, 0)
            self.joined_most -= 1
        self.joined_most = min(self.joined_most, n)
        self.joined_least = min(self.joined_least, self.joined_most)

    def silent_joins(self) -> None:
        """In a running round, ids that were handed out may join without a line."""
        self.joined_most = len(self.handed)

    # --- members are named

    def must_be_member(self, id: str) -> Misfit | None:
        """The log shows that `id` is a member: it is one from here on, if it can be."""
        if id in self.inside:
            return None
        if id in self.handed and self.joined_most > 0:
            self._take_handed(id, was_member=True)
            self.dynamic[id] = None
        elif self.others_most > 0:
            self.others_least, self.others_most = (
                max(self.others_least - 1, 0),
                self.others_most - 1,
            )
        elif id in self.handed:
            return Misfit(f"{id} has been given its id, but has not joined", COMING)
        else:
            return Misfit(f"{id} is not a member", COMING)
        self.inside[id] = False
        return None

    def park(self, id: str) -> None:
        self.inside[id] = True

    def new_round(self) -> None:
        """A round begins: nobody has joined it yet."""
        self.inside = dict.fromkeys(self.inside, False)
        self.peak = 0

    # --- ids go

    def remove(self, id: str) -> Misfit | None:
        refused = self.must_be_member(id)
        if refused:
            return refused
        del self.inside[id]
        self.static.pop(id, None)
        self.dynamic.pop(id, None)
        if self.leader == id:
            self.leader = None
        return None

    def drop_pending(self, id: str, *, known_ids: bool) -> Misfit | None:
        """An id that had not joined is gone."""
        if id in self.inside:
            return Misfit(f"{id} has joined already")
        if id in self.handed:
            if self.joined_least >= len(self.handed):
                return Misfit(f"{id} has joined already")
            self._take_handed(id, was_member=False)
        elif known_ids and not self.strangers:
            return Misfit(f"the id {id} was not waiting to join")
        return None

    def replace(self, instance: str, old: str, new: str | None) -> Misfit | None:
        """A static member gets another id. If the line does not name it, the member is one of those
        without a name.
        """
        refused = self.must_be_member(old)
        if refused:
            return refused
        del self.inside[old]
        self.static.pop(old, None)
        if self.leader == old:
            self.leader = new
        if new is None:
            self.others_least, self.others_most = self.others_least + 1, self.others_most + 1
        else:
            self.inside[new] = False
            self.static[new] = instance
        return None

    # --- counts

    def sized(self, size: int, *, generation: bool = True) -> Misfit | None:
        """The log prints the number of members, of a generation or of a round that is still open
        (which may have more members than group.max.size allows).
        """
        if generation:
            self.largest = max(self.largest, size)
        most = self.most()
        if not self.least() <= size <= most:
            return Misfit(
                f"{size} members are printed, but the group has {self.size()}",
                GOING if size < self.least() else COMING,
            )
        rest = size - len(self.inside)
        others_most = int(min(self.others_most, rest - self.joined_least))
        most_joined = min(self.joined_most, rest - self.others_least)
        self.others_least = max(self.others_least, rest - self.joined_most)
        self.joined_least = max(self.joined_least, rest - others_most)
        self.others_most, self.joined_most = others_most, most_joined
        if self.joined_least == len(self.handed) and self.handed:
            self.inside.update(dict.fromkeys(self.handed, False))
            self.dynamic.update(self.handed)
            self.handed = {}
            self.joined_least = self.joined_most = 0
        return None

    def uncount(self, *, joins_shown: bool) -> None:
        """Takes back what the last count told: whom it counted is open again."""
        self.joined_least, self.joined_most = 0, 0 if joins_shown else len(self.handed)
        self.others_least = 0

    def note_peak(self) -> None:
        """Remembers how many members the running round may have had at most."""
        self.peak = max(self.peak, self.most())

    def capped(self, size: int) -> bool:
        """Can group.max.size (KIP-389) have dropped members that rejoined too late, without a line,
        so that `size` are left?

        A member is dropped only when as many others wait as the cap allows, and the cap is at least
        the largest generation seen. Who was dropped is then open.
        """
        dropped = self.peak - self.largest
        if size >= self.most() or size < sum(self.inside.values()):
            return False
        if dropped < 1 or size < self.least() - dropped:
            return False
        self.forget_unparked()
        self.joined_least = 0
        return True

    def forget_unparked(self) -> None:
        """Members that have not visibly joined the round may have been dropped. If not, they now
        count as members without a name.
        """
        parked = [id for id, waits in self.inside.items() if waits]
        self.others_most += len(self.inside) - len(parked)
        self.others_least = 0
        self.inside = dict.fromkeys(parked, True)
        self.static = {id: i for id, i in self.static.items() if id in self.inside}
        self.dynamic = {id: None for id in self.dynamic if id in self.inside}
        if self.leader not in self.inside:
            self.leader = None

    def emptied(self) -> None:
        """Nobody is left; ids that were handed out stay."""
        self.inside, self.static, self.dynamic, self.leader = {}, {}, {}, None
        self.joined_least = self.joined_most = self.others_least = self.others_most = 0

    def loaded(self, size: int | None) -> None:
        """The group's record has been loaded: ids that were only handed out are forgotten. `size`:
        the number of members, if the log prints it.
        """
        self.emptied()
        self.handed, self.strangers, self.largest = {}, False, 0
        self.others_least, self.others_most = (0, inf) if size is None else (size, size)

    def name_loaded(self, id: str, instance: str | None) -> None:
        self.must_be_member(id)
        if instance is not None and id in self.inside:
            self.static[id] = instance
