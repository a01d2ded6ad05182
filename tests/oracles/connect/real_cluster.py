"""Workers that report what Kafka Connect's own leader tells them, from round to round."""

from __future__ import annotations

from groupcheck.model.assignors.connect import NOTHING, Config, Round, Work, Worker, running
from groupcheck.model.assignors.connect.values import DEFAULT_MAX_DELAY_MS
from groupcheck.model.assignors.hash_order import by_text
from groupcheck.oracles.connect.driver import Leaders
from groupcheck.oracles.connect.rounds import Facts, Step, read


class RealCluster:
    """One process is the leader. Its memory is in the JVM; everything else is here."""

    def __init__(
        self, leaders: Leaders, configured: Work, *, max_delay: int = DEFAULT_MAX_DELAY_MS
    ) -> None:
        self.leaders, self.configured, self.max_delay = leaders, configured, max_delay
        self.runs: dict[str, Work] = {"w0": NOTHING}
        self.now, self.generation, self.completed = 1_000_000, 0, -1
        self.delay, self.starts = 0, True

    def round(self, *, missed_by: tuple[str, ...] = ()) -> Facts:
        """All workers join; all but some get their answer."""
        self.generation += 1
        workers = tuple(Worker(name, 1, self.runs[name]) for name in by_text(self.runs))
        asked = Round(
            "w0",
            workers,
            Config(1, self.configured),
            last_completed_generation_id=self.completed,
            generation_id=self.generation,
            now=self.now,
            max_delay=self.max_delay,
        )
        (answers,) = self.leaders.assign_all([[Step(asked, starts=self.starts)]])
        self.starts = False
        facts = read(answers[0], asked.protocol)
        self.delay = facts["w0: delay"]
        if "w0" not in missed_by:
            self.completed = self.generation
        for name, has in self.runs.items():
            if name not in missed_by:
                told, stop = facts[f"{name}: assigned"], facts[f"{name}: revoked"]
                self.runs[name] = running(has, stop, told)
        return facts

    def settle(self) -> None:
        """Rounds while a worker has a reason to join again: it stopped something, or its delay is
        over.
        """
        for _ in range(20):
            self.now += self.delay
            facts = self.round()
            revoked = any(value for name, value in facts.items() if name.endswith(": revoked"))
            if not revoked and not self.delay:
                return
        raise AssertionError("it does not settle")

    def tasks(self) -> list[int]:
        """How many tasks each worker runs."""
        return [len(self.runs[name].tasks) for name in sorted(self.runs)]
