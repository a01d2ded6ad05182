"""The coordinator's memory of a streams group: that of a consumer group, and who has which task."""

from __future__ import annotations

from enum import IntEnum

from attrs import frozen

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.consumer.memory import Core, Seat, without
from groupcheck.model.protocol.consumer.messages import gone
from groupcheck.model.protocol.streams.messages import StreamsLink
from groupcheck.model.protocol.streams.scope import StreamsScope
from groupcheck.model.protocol.streams.tasks import active, standby

PerProcess = tuple[int, ...]


class Topics(IntEnum):
    """What there is of the topology's topics: its source, and the changelog of its stores."""

    READY = 0
    # The source is missing; the changelog is missing; the source has a partition more than it.
    NO_SOURCE = 1
    NO_CHANGELOG = 2
    UNEQUAL = 3


class Configured(IntEnum):
    """Has the coordinator configured the topology by the topics that there are, in memory?"""

    NO = 0
    # Since the last record of the group, so that an append that fails takes it back.
    LATELY = 1
    YES = 2


@frozen
class StreamsCore(Core):
    """What is true of the group as a whole."""

    # The topics that there are, and those that the group's record knows of (its metadata hash).
    there: Topics = Topics.READY
    known: Topics = Topics.READY
    # The epoch of its topology; None: it has none yet.
    topology: int | None = None
    # Which tasks each process has as active ones, and as standbys (currentActiveTaskToProcessId,
    # currentStandbyTaskToProcessIds).
    actives: PerProcess = ()
    standbys: PerProcess = ()
    # The same standbys as Kafka's sets have them, which an append that fails does not take back,
    # and the tasks that have had such a set (only with undo=as_kafka).
    noted: PerProcess = ()
    sets: int = 0
    # The initial rebalance delay runs, and (only where there is one) Configured.
    delayed: bool = False
    configured: Configured = Configured.NO
    # Some member has asked that the application stops. It is not in the log.
    shutdown: bool = False


@frozen
class StreamsSeat(Seat):
    """The coordinator's record of one member, and its timers."""

    # The process that it runs in.
    process: int = 0
    # It has a former topology.
    behind: bool = False

    @property
    def trait(self) -> int:
        """What the assignor goes by."""
        return self.process


def fresh(scope: StreamsScope) -> StreamsCore:
    """A group that does not exist."""
    none = (0,) * scope.homes
    return StreamsCore(actives=none, standbys=none, noted=none if scope.tracks_sets else ())


def _moved(now: PerProcess, process: int, old: int, new: int) -> PerProcess:
    """A member in this process has the new tasks in place of the old ones."""
    return (*now[:process], now[process] & ~old | new, *now[process + 1 :])


def placed(core: StreamsCore, old: StreamsSeat | None, new: StreamsSeat | None) -> StreamsCore:
    """The record of a member was written (StreamsGroup.updateMember, removeMember)."""
    seat = new or old
    assert seat is not None
    had, has = old.owned if old else 0, new.owned if new else 0
    copies = standby(had), standby(has)
    return evolve(
        core,
        actives=_moved(core.actives, seat.process, active(had), active(has)),
        standbys=_moved(core.standbys, seat.process, *copies),
        noted=_moved(core.noted, seat.process, *copies) if core.noted else (),
        sets=core.sets | copies[1] if core.noted else 0,
        configured=_stored(core.configured),
    )


def _stored(configured: Configured) -> Configured:
    return Configured.YES if configured == Configured.LATELY else configured


def unplaced(core: StreamsCore, tried: StreamsCore) -> StreamsCore:
    """The group after an append that failed: as it was, but for the sets that were changed while
    the records were replayed. A set that was new is gone.
    """
    noted = tuple(now & ~core.sets | then & core.sets for now, then in zip(core.noted, tried.noted))
    lately = core.configured == Configured.LATELY
    configured = Configured.NO if lately else core.configured
    return evolve(core, noted=noted, configured=configured)


def removed(core: StreamsCore, seat: Seat, scope: StreamsScope) -> StreamsCore:
    """The group after a member was removed; its epoch grows (streamsGroupFenceMember). Once it is
    empty, nobody is asked to stop; from Kafka 4.4 on it is at its target.
    """
    assert isinstance(seat, StreamsSeat)
    left = without(core, seat, settles=scope.release.settles_empty)
    assert isinstance(left, StreamsCore)
    left = placed(left, seat, None)
    return evolve(left, shutdown=left.shutdown and left.members > 0)


def forgotten(link: StreamsLink, core: StreamsCore, seat: Seat, scope: StreamsScope) -> StreamsLink:
    """The link of a member that is removed. Kafka 4.4 keeps what it has made of the target."""
    without_tag = gone(link)
    assert isinstance(without_tag, StreamsLink)
    link = without_tag
    if scope.recalls and core.configured != Configured.NO:
        link = evolve(link, recalled=link.recalled | seat.target)
    return link


def kept(core: StreamsCore, seat: Seat, scope: StreamsScope) -> StreamsCore:
    """The group after the record of a removal could not be appended. That nobody is asked to stop
    is not taken back.
    """
    tried = removed(core, seat, scope)
    return evolve(unplaced(core, tried), shutdown=tried.shutdown)
