"""Two drivers on one store, interleaved at every access to it: each gives the right counts or a
clear error, and the store can always be resumed to the right counts.
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import threading
import time

import pytest
from in_process import InProcess, manifest_in

from groupcheck.model.engine import Limits, Spec, UserError, goal, rule, single
from groupcheck.model.engine.fast.explore import explore
from groupcheck.model.engine.fast.shards import lease, manifests
from groupcheck.model.engine.fast.shards.distribute import distribute
from groupcheck.model.engine.fast.shards.store import Store


@rule
def up(n):
    if n < 3:
        yield n + 1


@rule
def follow(n, m):
    if m < n:
        yield n, m + 1


@goal
def both(n, m):
    return n == m == 3


SPEC = Spec("counters", {"n": single(0), "m": single(0)}, [up, follow], goals=[both])
ACCESSES = ("_write", "_opened", "names", "delete")


@pytest.fixture(autouse=True)
def local_disk(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path_factory.mktemp("local")))


@pytest.fixture
def no_lease(monkeypatch):
    """As where a driver was silent for so long that it is taken for dead."""
    monkeypatch.setattr(lease, "FRESH", 0.0)


def counted(verdict):
    v = verdict
    return v.verdict, v.states, v.transitions, v.depth, v.rules, v.goals, v.rule_calls


WHOLE = counted(explore(SPEC))


class KilledError(BaseException):
    """A driver that is gone."""


class Turns:
    """Threads of which one runs at a time: before each access to a store, `next_one` says who goes
    on. A driver's thread has its number as name.
    """

    def __init__(self, next_one):
        self.next_one, self.turn = next_one, 0
        self.changed = threading.Condition()
        self.left: set[int] = set()
        self.accesses = [0, 0]
        self.outcomes: dict[int, object] = {}

    def give_up(self, me):
        """Lets another driver go on, and waits for this one's turn."""
        self.accesses[me] += 1
        with self.changed:
            wanted = self.next_one(me, self.accesses)
            self.turn = wanted if wanted in self.left else me
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.turn == me)

    def drive(self, me, search):
        with self.changed:
            self.changed.wait_for(lambda: self.turn == me)
        try:
            self.outcomes[me] = counted(search())
        except UserError as error:
            self.outcomes[me] = error
        except KilledError:
            self.outcomes[me] = None
        with self.changed:
            self.left.discard(me)
            self.turn = min(self.left, default=-1)
            self.changed.notify_all()

    def run(self, monkeypatch, *searches):
        """What became of each search: its counts, its error, or None if it was killed."""
        for name in ACCESSES:
            monkeypatch.setattr(Store, name, self._counted(getattr(Store, name)))
        threads = [
            threading.Thread(target=self.drive, args=(k, search), name=str(k))
            for k, search in enumerate(searches)
        ]
        self.left = set(range(len(threads)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [self.outcomes[k] for k in range(len(threads))]

    def _counted(self, access):
        def taking_turns(store, *args):
            name = threading.current_thread().name
            if name in ("0", "1"):
                self.give_up(int(name))
            return access(store, *args)

        return taking_turns


def fresh(store):
    return lambda: distribute(SPEC, InProcess(2), str(store), widest=0)


def resumed(store):
    return lambda: distribute(SPEC, InProcess(2), str(store), resume=True)


def judged(outcomes, store):
    """Every driver that was not killed gave the right counts or a clear error, and so does one that
    comes later.
    """
    for outcome in outcomes:
        assert outcome == WHOLE or isinstance(outcome, UserError) or outcome is None, outcome
    assert counted(resumed(store)()) == WHOLE


def accesses_of_one_driver(tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        turns = Turns(lambda me, accesses: me)
        assert turns.run(patch, fresh(tmp_path / "alone")) == [WHOLE]
    return turns.accesses[0]


def test_a_second_driver_that_resumes_at_any_moment_ruins_nothing(tmp_path, no_lease):
    """The first waits at one of its accesses until the second has ended."""
    taken_over = 0
    for moment in range(1, accesses_of_one_driver(tmp_path), 5):
        store = tmp_path / str(moment)
        with pytest.MonkeyPatch.context() as patch:
            turns = Turns(lambda me, accesses, moment=moment: int(accesses[0] >= moment))
            outcomes = turns.run(patch, fresh(store), resumed(store))
        judged(outcomes, store)
        assert outcomes[1] == WHOLE or "holds no search" in str(outcomes[1])
        taken_over += outcomes[1] == WHOLE and outcomes[0] != WHOLE
    assert taken_over > 8


@pytest.mark.parametrize(
    "registering", [4, *(pytest.param(k, marks=pytest.mark.night) for k in (7, 10))]
)
def test_a_driver_that_has_registered_loses_no_file_to_the_one_before(
    tmp_path, no_lease, registering
):
    """The second comes at any moment of one level, makes so many accesses, and then the first goes
    on for a level.
    """
    for moment in range(60, 90, 2):
        store = tmp_path / str(moment)

        def next_one(me, accesses, moment=moment):
            return int(accesses[0] >= moment and accesses[1] <= registering) or int(
                accesses[0] >= moment + 40
            )

        with pytest.MonkeyPatch.context() as patch:
            outcomes = Turns(next_one).run(patch, fresh(store), resumed(store))
        judged(outcomes, store)
        assert outcomes[1] == WHOLE, outcomes


@pytest.mark.parametrize("seed", range(12))
def test_two_drivers_in_any_order_of_accesses_ruin_nothing(tmp_path, no_lease, seed):
    """Both resume one store, or one of them begins it; either may be killed on the way."""
    chance = random.Random(seed)
    store = tmp_path / "store"
    first = fresh(store)
    if seed % 2:
        distribute(SPEC, InProcess(2), str(store), Limits(states=chance.randrange(2, 8)), widest=0)
        first = resumed(store)
    killed, at = chance.choice([(0, 40), (1, 40), (0, 90), (1, 90), (-1, 0)])

    def next_one(me, accesses):
        if me == killed and accesses[me] == at:
            raise KilledError
        return chance.choice([0, 0, 0, 1]) if seed % 3 else chance.choice([0, 1, 1, 1])

    with pytest.MonkeyPatch.context() as patch:
        outcomes = Turns(next_one).run(patch, first, resumed(store))
    judged(outcomes, store)


def test_a_second_driver_is_told_who_holds_the_store(tmp_path):
    """In words with host and process; one that was killed here holds nothing."""
    distribute(SPEC, InProcess(2), str(tmp_path), Limits(states=4), widest=0)
    store = Store(str(tmp_path))
    lease.Lease(store, manifests.new_run()).renew()
    holder = rf"another driver on {socket.gethostname()}, process {os.getpid()}, wrote \d seconds"
    with pytest.raises(UserError, match=holder):
        resumed(tmp_path)()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (name,) = store.names(lease.FOLDER)
    store.write_document(name, {**store.read_document(name), "pid": ended.pid})
    assert counted(resumed(tmp_path)()) == WHOLE


@pytest.mark.parametrize("change", [{"wrote": 0}, {"pid": "x"}, {"pid": 1 << 70}, {"wrote": []}])
def test_a_lease_that_is_old_or_forged_holds_nothing(tmp_path, change):
    distribute(SPEC, InProcess(2), str(tmp_path), Limits(states=4), widest=0)
    told = {"host": socket.gethostname(), "pid": os.getpid(), "wrote": time.time(), **change}
    Store(str(tmp_path)).write_document(f"{lease.FOLDER}/{manifests.new_run()}.json", told)
    assert counted(resumed(tmp_path)()) == WHOLE


def test_a_driver_that_has_ended_leaves_no_lease(tmp_path):
    distribute(SPEC, InProcess(2), str(tmp_path), Limits(states=4), widest=0)
    assert Store(str(tmp_path)).names(lease.FOLDER) == []


def test_a_driver_deletes_no_file_of_an_earlier_run(tmp_path):
    distribute(SPEC, InProcess(2), str(tmp_path), Limits(states=4), widest=0)
    name, manifest = manifest_in(tmp_path)
    before = (tmp_path / name).read_text()
    distribute(SPEC, InProcess(2), str(tmp_path), Limits(states=7), resume=True)
    assert manifest["incoming"]
    assert all((tmp_path / block).exists() for block in manifest["incoming"])
    assert (tmp_path / name).read_text() == before


def test_a_store_that_hides_what_was_just_written_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(Store, "names", lambda store, folder="": [])
    with pytest.raises(UserError, match="does not show the manifest"):
        fresh(tmp_path)()


def test_a_store_of_an_older_version_is_refused(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"format": "groupcheck.shards/1"}))
    with pytest.raises(UserError, match="another version of groupcheck"):
        resumed(tmp_path)()


def test_an_empty_store_cannot_be_resumed(tmp_path):
    with pytest.raises(UserError, match="holds no search"):
        resumed(tmp_path)()
