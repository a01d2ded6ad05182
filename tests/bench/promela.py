"""The small group of tests/examples/small_group.py as a Promela model for Spin: the same states and
transitions, written as Spin likes it.

One process, one loop, one `d_step` for each outcome of a rule, all variables global bit-fields,
members unrolled: the form that was fastest among one process for each member, bytes, and
bit-fields. Numbers stand for what Promela does not have: a leader of `members` is nobody, a
member's generation is one higher (0: none), `kind` is the request or answer in flight and `what`
its roster or shares.
"""

from __future__ import annotations

from collections.abc import Sequence

PHASES = ("EMPTY", "PREPARING", "COMPLETING", "STABLE")
STAGES = ("UNJOINED", "JOINING", "SYNCING", "SETTLED")
REQUESTS = ("ASK_JOIN", "ASK_HEARTBEAT", "ASK_LEAVE", "ASK_SYNC", "ASK_SYNC_LEADER")
ANSWERS = ("TO_JOIN", "TO_JOIN_LEADER", "TO_SYNC", "OK", "REBALANCE", "UNKNOWN", "ILLEGAL")
KINDS = ("IDLE", *REQUESTS, *ANSWERS)


def shares(partitions: int, members: int, roster: Sequence[int]) -> list[int]:
    """The range assignor: a bit mask of partitions for each member."""
    masks, first = [0] * members, 0
    for rank, member in enumerate(roster):
        size = partitions // len(roster) + (rank < partitions % len(roster))
        masks[member] = ((1 << size) - 1) << first
        first += size
    return masks


def choose(*cases: tuple[str, str], otherwise: str = "skip") -> str:
    """An `if` with exclusive guards."""
    return (
        "if "
        + " ".join(f":: {guard} -> {then}" for guard, then in cases)
        + f" :: else -> {otherwise} fi"
    )


class Group:
    """Builds the model's text for one scope: members, partitions, generations, timeouts (in all),
    crashes (of each member).
    """

    def __init__(
        self, members: int, partitions: int, generations: int, timeouts: int, crashes: int
    ) -> None:
        self.all = range(members)
        self.partitions, self.generations, self.timeouts, self.crashes = (
            partitions,
            generations,
            timeouts,
            crashes,
        )
        self.nobody = members
        self.deserted = choose(
            (" || ".join(f"known_{i}" for i in self.all), "skip"),
            otherwise=f"phase = EMPTY; leader = {members}",
        )
        self.prepared = choose(
            (
                "phase != PREPARING",
                "phase = PREPARING; "
                + "; ".join(f"waiting_sync_{i} = 0; share_{i} = 0" for i in self.all),
            )
        )

    def text(self) -> str:
        steps = [self.complete_join(), self.join_timeout()]
        for i in self.all:
            steps += [*self.member(i), *self.requests(i), *self.replies(i)]
        names = [
            f"#define {name} {n}"
            for group in (PHASES, STAGES, KINDS)
            for n, name in enumerate(group)
        ]
        return "\n".join(
            [
                *names,
                *self.variables(),
                "active proctype system() {",
                "end: do",
                *steps,
                "od",
                "}",
                "",
            ]
        )

    def variables(self) -> list[str]:
        mask = (1 << self.partitions) - 1
        largest = {
            "phase": 3,
            "generation": self.generations,
            "leader": self.nobody,
            "timeouts": self.timeouts,
        }
        for i in self.all:
            largest |= {
                f"known_{i}": 1,
                f"waiting_join_{i}": 1,
                f"waiting_sync_{i}": 1,
                f"share_{i}": mask,
            }
        for i in self.all:
            largest |= {
                f"stage_{i}": 3,
                f"since_{i}": self.generations + 1,
                f"owned_{i}": mask,
                f"crashes_{i}": self.crashes,
            }
            largest |= {f"kind_{i}": len(KINDS) - 1, f"of_{i}": self.generations} | {
                f"what_{i}_{j}": mask for j in self.all
            }
        start = {"leader": self.nobody}
        return [
            f"unsigned {name} : {max(1, top.bit_length())} = {start.get(name, 0)};"
            for name, top in largest.items()
        ]

    def link(self, i: int, kind: str, generation: str = "0", what: Sequence[str] = ()) -> str:
        values = [*what, *["0"] * (len(self.all) - len(what))]
        return f"kind_{i} = {kind}; of_{i} = {generation}; " + "; ".join(
            f"what_{i}_{j} = {v}" for j, v in enumerate(values)
        )

    def step(self, guard: str, *effects: str) -> str:
        return f":: d_step {{ ({guard}) -> {'; '.join(effects)} }}"

    # -- the coordinator by itself

    def complete_join(self) -> str:
        some = " || ".join(f"known_{i}" for i in self.all)
        every = " && ".join(f"(!known_{i} || waiting_join_{i})" for i in self.all)
        first = choose(
            *[
                (" && ".join([*[f"!known_{j}" for j in range(i)], f"known_{i}"]), f"leader = {i}")
                for i in self.all
            ]
        )
        keeps = choose(
            *[(f"leader == {i} && known_{i}", "skip") for i in self.all], otherwise=first
        )
        return self.step(
            f"phase == PREPARING && ({some}) && {every}",
            keeps,
            "phase = COMPLETING",
            "generation++",
        )

    def join_timeout(self) -> str:
        late = " || ".join(f"(known_{i} && !waiting_join_{i})" for i in self.all)
        drop = [choose((f"!waiting_join_{i}", self.unseat(i))) for i in self.all]
        return self.step(
            f"phase == PREPARING && timeouts < {self.timeouts} && ({late})",
            "timeouts++",
            *drop,
            self.deserted,
        )

    def unseat(self, i: int) -> str:
        return f"known_{i} = 0; waiting_join_{i} = 0; waiting_sync_{i} = 0; share_{i} = 0"

    # -- a member

    def member(self, i: int) -> list[str]:
        gone = f"stage_{i} = UNJOINED; since_{i} = 0; owned_{i} = 0"
        idle = self.link(i, "IDLE")
        free = f"kind_{i} == IDLE && stage_{i}"
        takes = f"stage_{i} = SYNCING; since_{i} = of_{i} + 1"
        assign = choose(*[self.assigned(i, bits) for bits in range(1, 1 << len(self.all))])
        receive = choose(
            (f"kind_{i} == TO_JOIN && stage_{i} == JOINING", f"{takes}; kind_{i} = ASK_SYNC"),
            (
                f"kind_{i} == TO_JOIN_LEADER && stage_{i} == JOINING",
                f"{takes}; kind_{i} = ASK_SYNC_LEADER; {assign}",
            ),
            (
                f"kind_{i} == TO_SYNC && stage_{i} == SYNCING",
                f"stage_{i} = SETTLED; owned_{i} = what_{i}_0; {idle}",
            ),
            (f"kind_{i} == OK", idle),
            (f"kind_{i} == REBALANCE", f"stage_{i} = UNJOINED; {idle}"),
            otherwise=f"{gone}; {idle}",
        )
        return [
            self.step(
                f"{free} == UNJOINED",
                f"stage_{i} = JOINING; owned_{i} = 0",
                self.link(i, "ASK_JOIN"),
            ),
            self.step(f"{free} == SETTLED", self.link(i, "ASK_HEARTBEAT", f"since_{i} - 1")),
            self.step(f"{free} == SETTLED", gone, self.link(i, "ASK_LEAVE")),
            self.step(
                f"crashes_{i} < {self.crashes} && stage_{i} != UNJOINED",
                f"crashes_{i}++",
                gone,
                idle,
            ),
            self.step(f"kind_{i} >= TO_JOIN", receive),
        ]

    def assigned(self, i: int, bits: int) -> tuple[str, str]:
        """For one roster: it is the one in flight, then these are the shares."""
        roster = [j for j in self.all if bits >> j & 1]
        masks = shares(self.partitions, len(self.all), roster)
        flags = " && ".join(f"what_{i}_{j} == {int(j in roster)}" for j in self.all)
        return flags, "; ".join(f"what_{i}_{j} = {mask}" for j, mask in enumerate(masks))

    # -- the coordinator and one member's requests

    def requests(self, i: int) -> list[str]:
        refusals = [
            (f"!known_{i}", self.link(i, "UNKNOWN")),
            (f"of_{i} != generation", self.link(i, "ILLEGAL")),
        ]
        share_out = "phase = STABLE; " + "; ".join(f"share_{j} = what_{i}_{j}" for j in self.all)
        park = (
            f"waiting_sync_{i} = 1;"
            f" {choose((f'leader == {i} && kind_{i} == ASK_SYNC_LEADER', share_out))};"
            f" {self.link(i, 'IDLE')}"
        )
        leave = f"{self.unseat(i)}; {self.prepared}; {self.deserted}; {self.link(i, 'OK')}"
        return [
            self.step(
                f"kind_{i} == ASK_JOIN && generation < {self.generations}",
                f"known_{i} = 1; {self.prepared}; waiting_join_{i} = 1; {self.link(i, 'IDLE')}",
            ),
            self.step(
                f"kind_{i} == ASK_LEAVE",
                choose(
                    (f"known_{i} && generation < {self.generations}", leave),
                    otherwise=self.link(i, "IDLE"),
                ),
            ),
            self.step(
                f"kind_{i} == ASK_HEARTBEAT",
                self.first(*refusals, self.rebalance(i), otherwise=self.link(i, "OK")),
            ),
            self.step(
                f"kind_{i} == ASK_SYNC || kind_{i} == ASK_SYNC_LEADER",
                self.first(
                    *refusals,
                    self.rebalance(i),
                    ("phase == STABLE", self.link(i, "TO_SYNC", what=[f"share_{i}"])),
                    otherwise=park,
                ),
            ),
        ]

    def rebalance(self, i: int) -> tuple[str, str]:
        return "phase == PREPARING", self.link(i, "REBALANCE")

    def first(self, *cases: tuple[str, str], otherwise: str) -> str:
        """The effect of the first case whose guard holds."""
        for guard, then in reversed(cases):
            otherwise = choose((guard, then), otherwise=otherwise)
        return otherwise

    def replies(self, i: int) -> list[str]:
        roster = [f"known_{j}" for j in self.all]
        to_join = choose(
            (f"leader == {i}", self.link(i, "TO_JOIN_LEADER", "generation", roster)),
            otherwise=self.link(i, "TO_JOIN", "generation"),
        )
        silent = (
            f"known_{i} && !waiting_join_{i} && !waiting_sync_{i} && timeouts < {self.timeouts} &&"
            f" generation < {self.generations}"
        )
        return [
            self.step(
                f"(phase == COMPLETING || phase == STABLE) && waiting_join_{i} && kind_{i} == IDLE",
                f"waiting_join_{i} = 0",
                to_join,
            ),
            self.step(
                f"phase == STABLE && waiting_sync_{i} && kind_{i} == IDLE",
                f"waiting_sync_{i} = 0",
                self.link(i, "TO_SYNC", what=[f"share_{i}"]),
            ),
            self.step(
                silent,
                f"timeouts++; known_{i} = 0; share_{i} = 0; {self.prepared}; {self.deserted}",
            ),
        ]
