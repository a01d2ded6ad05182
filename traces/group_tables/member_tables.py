"""Members and states that outputs show: `--describe --members`, `--state`, the owners in tables of
offsets, and what the command says about the state of a group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from attrs import Factory, define

from groupcheck.traces.group_tables.outputs import ABSENT, EMPTY, Output
from groupcheck.traces.group_tables.tables import TableRow
from groupcheck.traces.group_tables.watched import IN_ROUND, NAMED, OutputSpan, Speaker, some

MOST_MEMBERS = 20_000
RETURNS = 3
"""A client that came back under new ids so often does so again and again."""


@define
class TableMembers:
    """Follows who is in one group."""

    say: Speaker
    # The last known number of partitions, from any table.
    partitions: int = 0
    _last: Output | None = None
    # Member -> how many partitions, in the last output that tells it.
    _shares: Mapping[str, int] = Factory(dict)
    _rows: Mapping[str, TableRow] = Factory(dict)
    # The rows of the last table of all members; None if there is none to compare with.
    _listed: Mapping[str, TableRow] | None = None
    # (client, host) -> its only member.
    _alone: dict[tuple[str, str], str] = Factory(dict)
    # (client, host) -> how often it came back under a new id, and the last row that shows it.
    _returns: Counter[tuple[str, str]] = Factory(Counter)
    # Member -> since when its epoch is behind the target's.
    _behind: dict[str, tuple[OutputSpan, TableRow]] = Factory(dict)

    def add(self, output: Output, later: bool = True) -> None:
        """Reads an output that has rows of members. `later`: at another moment."""
        rows = {row.name("member"): row for row in output.rows if row.name("member")}
        if len(rows) > MOST_MEMBERS or (self._last is not None and _earlier(output, self._last)):
            self._last, self._listed, self._alone = None, None, {}
            return
        self._returned(output, rows, later)
        if output.kind == "members":
            self._counted(output, self._gone_and_come(output, rows, later))
        if output.share:
            return  # several of its members read one partition
        if output.kind == "members":
            self._assignments(output, rows)
        shares: Counter[str] = Counter()
        for row in output.rows:
            if member := row.name("member"):
                count = row.number("count")
                shares[member] += count if count is not None else bool(row.partition)
        if output.state not in IN_ROUND and not output.cut and shares:
            self._shares, self._rows, self._last = shares, rows, output
        else:
            self._shares, self._last = {}, output

    def forget(self) -> None:
        """What follows is not compared with what was read."""
        self._last, self._listed, self._alone, self._behind = None, None, {}, {}

    def _returned(self, output: Output, rows: Mapping[str, TableRow], later: bool) -> None:
        """Clients that have another member id than in the output before."""
        often = Counter((row.name("client"), row.name("host")) for row in rows.values())
        for member, row in rows.items():
            who = (row.name("client"), row.name("host"))
            if often[who] != 1 or not who[0]:
                continue
            before = self._alone.get(who)
            if later and before is not None and before != member and before not in rows:
                self._returns[who] += 1
                self.say(
                    "member_replaced", row.line, row.text, output.time, row,
                    of=who[0], host=who[1], before=before,
                )  # fmt: skip
            self._alone[who] = member

    def _gone_and_come(
        self, output: Output, rows: Mapping[str, TableRow], later: bool
    ) -> dict[str, Any]:
        """Who is not in this table any more, and who is new in it, of those in the one before."""
        before, self._listed = self._listed, None if output.cut else rows
        if before is None or output.cut or not later:
            return {}
        gone, come = before.keys() - rows.keys(), rows.keys() - before.keys()
        return {"gone": some([*gone]) or None, "come": some([*come]) or None}

    def _counted(self, output: Output, changed: Mapping[str, Any]) -> None:
        """How many members there are, and how many of them have partitions."""
        if not all({"count", "assignment"} & row.columns for row in output.rows):
            return
        counts = [
            len(row.partitions("assignment")) if (n := row.number("count")) is None else n
            for row in output.rows
        ]
        row = output.rows[0]
        self.say("described", row.line, row.text, output.time, of="members", members=len(counts),
                 shares=sum(counts), idle=counts.count(0) or None,
                 moves=_moves(output.rows), **changed)  # fmt: skip

    def _assignments(self, output: Output, rows: Mapping[str, TableRow]) -> None:
        """Reads assignments as `--verbose` shows them, and who is not at its target."""
        held = Counter(p for row in rows.values() for p in row.partitions("assignment"))
        shared = any(n > 1 for n in held.values())  # a share group: its members own nothing alone
        for member, row in rows.items():
            has, target = row.partitions("assignment"), row.partitions("target")
            nameless = not has and row.number("count")  # 3.8 and 3.9 print no topics
            told = "assignment" in row.columns or row.number("count") == 0
            if told and not shared and not nameless:
                self.say("owns", row.line, row.text, output.time, row,
                         partitions=", ".join(sorted(has)[:1000]), whole=True)  # fmt: skip
            epoch, wanted = row.number("epoch"), row.number("target_epoch")
            behind = epoch is not None and wanted is not None and epoch < wanted
            if not (behind or (target and has - target)):
                self._behind.pop(member, None)
            elif member in self._behind:
                self._behind[member][0].goes_on(output)
            else:
                self._behind[member] = (OutputSpan.start(output, row.line, row.text), row)

    def settle(self) -> None:
        """Says what the last output leaves."""
        for span, row in self._behind.values():
            keeps = row.partitions("assignment") - row.partitions("target")
            self.say.of(
                "member_behind_target", span, row, epoch=row.number("epoch"),
                target=row.number("target_epoch"), keeps=some([*keeps]) or None,
            )  # fmt: skip
        for who, times in self._returns.items():
            if times >= RETURNS:
                told = f"{who[0]} on {who[1]} came back under {times} new member ids"
                at = next(s for s in self.say.out if s.kind == "member_replaced")
                self.say("bouncing_members", at.line, at.text, at.time, told=told)
        self._settle_shares()

    def _settle_shares(self) -> None:
        """Members without a share, and shares that differ much."""
        output, shares = self._last, self._shares
        if output is None or len(shares) < 2 or self._behind:
            return
        idle = [member for member, n in shares.items() if n == 0]
        poor, rich = (pick(shares, key=lambda m: shares[m]) for pick in (min, max))
        total = sum(shares.values())
        row = self._rows[poor]
        at = (row.line, row.text, output.time)
        fields: dict[str, Any] = {"members": len(shares), "partitions": total}
        if idle and len(shares) > total > 0:
            fields |= {"idle": len(idle), "one": idle[0]}
            others = "yes" if len(idle) > 1 else None
            self.say("members_idle", *at, None, others=others, **fields)
        elif total and shares[rich] - shares[poor] >= 2:
            fields |= {"most": shares[rich], "least": shares[poor], "rich": rich, "poor": poor}
            self.say("shares_uneven", *at, None, **fields)


def _moves(rows: Sequence[TableRow]) -> str | None:
    """Who has to give partitions to whom, as current and target assignments tell."""
    holds = {p: row for row in rows for p in row.partitions("assignment")}
    out: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for partition in sorted(row.partitions("target") - row.partitions("assignment")):
            giver = holds.get(partition)
            source = giver.name("client") or giver.name("member") if giver else "nobody"
            way = source, row.name("client") or row.name("member")
            out.setdefault(way, []).append(partition)
    told = (f"{some(moved)} from {a} to {b}" for (a, b), moved in out.items())
    return "; ".join(islice(told, NAMED)) or None


def _earlier(output: Output, last: Output) -> bool:
    return output.time is not None and last.time is not None and output.time < last.time


@define
class States:
    """Follows the state of one group."""

    say: Speaker
    _round: OutputSpan | None = None
    # How many moments the outputs show.
    _looks: int = 0
    _state: str = ""
    # An output showed the group, before one said that it does not exist.
    _existed: bool = False
    _absent: OutputSpan | None = None

    def forget(self) -> None:
        """What follows is not compared with what was read."""
        self._ended()
        self._absent = None

    def add(self, output: Output, later: bool = True) -> None:
        """Reads what an output tells of the state. `later`: at another moment."""
        if output.error:
            self.say("tool_failed", output.line, output.text, output.time, error=output.error)
            return
        self._looks += later or not self._looks
        if output.state in IN_ROUND:
            if self._round is None:
                row = output.rows[0] if output.kind == "state" else None
                at = (row.line, row.text) if row is not None else (0, "")
                self._round = OutputSpan.start(output, *at)
            elif later:
                self._round.goes_on(output)
            self._state = output.state
        elif later or output.state:  # one of two tables of a moment may not tell it
            self._ended()
        if output.state == ABSENT:
            if self._absent is None:
                self._absent = OutputSpan.start(output)
            elif later:
                self._absent.goes_on(output)
        else:
            self._existed, self._absent = True, None
        self._counted(output)

    def _counted(self, output: Output) -> None:
        """A table of states tells the number of members, and the command that there are none."""
        if output.kind == "message" and output.state == EMPTY:
            self.say("state_empty", output.line, output.text, output.time)
        if output.kind != "state":
            return
        row = output.rows[0]
        members = row.number("members")
        self.say("described", row.line, row.text, output.time, None, state=output.state,
                 members=members, coordinator=row.name("coordinator") or None,
                 strategy=row.name("strategy") or None, epoch=row.number("group_epoch"),
                 target=row.number("target_group_epoch"), of="state")  # fmt: skip
        if output.state == EMPTY:
            self.say("state_empty", row.line, row.text, output.time)
        elif output.state == "Stable" and members:
            self.say("state_stable", row.line, row.text, output.time)

    def _ended(self) -> None:
        if self._round is not None and self._round.sure:
            self.say.of("round_lasts", self._round, state=self._state, **self._seen())
        self._round = None

    def _seen(self) -> dict[str, Any]:
        """How often it was seen in the round, in words; `often` if that was more than once."""
        outputs = self._round.outputs if self._round is not None else 0
        if outputs < 2:
            return {"seen": "at the moment of the output"}
        often = f"whenever it is looked at (outputs: {outputs:,})"
        if outputs < self._looks:
            often = f"in {outputs:,} of {self._looks:,} outputs"
        return {"seen": often, "often": often}

    def settle(self) -> None:
        """Says what lasted until the last output."""
        if self._round is not None:
            self.say.of("round_lasts", self._round, state=self._state, **self._seen())
        if self._absent is not None:
            self.say.of("group_absent", self._absent, existed=1 if self._existed else 0)
