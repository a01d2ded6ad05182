"""Findings of the replay of a broker's log, as statements like those of clients, so that one base
of causes serves all logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attrs import evolve, frozen

from groupcheck.traces.clients.sentences import kinds
from groupcheck.traces.clients.statement import TEXT_CHARS, Statement
from groupcheck.traces.clients.who import BROKER
from groupcheck.traces.findings.findings import HEARTBEAT, SESSION, Findings
from groupcheck.traces.findings.report import Anomaly, FileReport, GroupReport
from groupcheck.traces.formats import PACKET_CAPTURE, REQUEST_LOG
from groupcheck.traces.phrases import seconds
from groupcheck.traces.story.events import EPOCHS
from groupcheck.traces.story.moments import Round

KINDS = {"generation_reset": "group_reset", "fenced": "instance_fenced"}
"""An anomaly -> the statement, where their names differ."""
GROUPS = {protocol: f"{protocol}_group" for protocol in EPOCHS}
"""The protocol of a group -> the statement that it is one of those."""
REFUSED = {
    "full": "group_full",
    "twin": "instance_fenced",
    "unreleased": "instance_in_use",
    "no_common_protocol": "protocol_mismatch",
    "bad_session_timeout": "session_refused",
    "not_authorized": "not_authorized",
    "unavailable": "coordinator_unavailable",
    "loading": "coordinator_loading",
    "fenced_epoch": "member_fenced",
}
"""A refusal -> the statement that a client's log would have. Refusals that are part of every
rebalance are left out.
"""
OVER = {"expired", "old_generation"}
"""Refusals of who is no member of the generation any more."""
STATEMENTS_KEPT = 50
"""Of each kind of statement."""


def statements(report: FileReport, group: GroupReport) -> Iterator[Statement]:
    """Everything that was found about the group and that a cause may ask for."""
    say = _Speaker(report.path, group.group)
    kind = GROUPS.get(group.protocol)
    if kind is not None and group.timeline.first is not None:
        first = group.timeline.first
        yield say(kind, first.line, report.quotes.get(first.line, ""), first.time)
    for found in group.anomalies:
        kind = KINDS.get(found.kind, found.kind)
        if kind in kinds():
            more: dict[str, Any] = {}
            if found.since is not None and found.until is not None:
                more["lasted"] = found.until - found.since
            told = say(kind, found.line, found.text, found.since, told=found.text, **more)
            yield evolve(told, **_quoted(told, found, report))
    for back in group.findings.went_back[:STATEMENTS_KEPT]:
        told = say(
            "offset_went_back",
            back.line,
            report.quotes.get(back.line, ""),
            back.time or None,
            partition=back.partition,
            before=back.was,
            now=back.committed,
        )
        yield evolve(told, subject=back.partition)
    yield from _refusals(say, group.findings)
    yield from _members(say, group.findings, report.format in (REQUEST_LOG, PACKET_CAPTURE))
    yield from _settings(say, group.findings)
    yield from _handed_over(say, group.timeline.rounds)
    if group.requests is not None:
        for came in group.requests.facts.returns[:STATEMENTS_KEPT]:
            text = f"{came.client} left, and joined again on the same connection"
            yield say(
                "left_and_came_back", came.line, text, came.time, came.client, after=came.after
            )


def _quoted(told: Statement, found: Anomaly, report: FileReport) -> dict[str, Any]:
    """The lines on which a finding rests, as far as their texts are known."""
    some = [
        evolve(told, line=line, text=text[:TEXT_CHARS].strip())
        for line in found.lines or (found.line,)
        if (text := report.quotes.get(line))
    ]
    return {"rests_on": tuple(some)}


@frozen
class _Speaker:
    """Makes statements about one group."""

    log: str
    group: str

    def __call__(
        self,
        kind: str,
        line: int,
        text: str,
        time: int | None = None,
        who: str = "",
        **fields: Any,
    ) -> Statement:
        return Statement(
            kind=kind,
            line=line,
            text=text,
            time=time,
            log=self.log,
            library=BROKER,
            group=self.group,
            client=who,
            fields=fields,
        )


def _refusals(say: _Speaker, found: Findings) -> Iterator[Statement]:
    for refused in found.refusals:
        kind = REFUSED.get(refused.what)
        if kind is not None:
            for who in [*refused.clients][:STATEMENTS_KEPT] or [""]:
                text = f"{refused.api} was answered {refused.name or refused.code}"
                since = refused.window.since
                yield say(kind, refused.window.line, text, since, who, error=refused.name)


def _members(say: _Speaker, found: Findings, requests: bool) -> Iterator[Statement]:
    """Who was away, and why members left. A broker's own lines say themselves who expired."""
    for reason in found.reasons:
        if reason.kind == "poll_timeout":
            for member in reason.members[:STATEMENTS_KEPT]:
                yield say("poll_expired", reason.line, reason.text, who=member)
    for away in found.absences[:STATEMENTS_KEPT]:
        who, window = away.client or away.member, away.window
        if away.kind == "frozen":
            lasted: dict[str, Any] = {} if window.ms is None else {"lasted": window.ms}
            late = (r for r in found.refusals if who in r.clients and r.what in OVER)
            commit = next((r for r in late if "COMMIT" in r.api.upper()), None)
            if commit is not None:
                lasted["commit_refused"] = commit.name or commit.what
            text = f"{who} was silent, and came back with its old id"
            yield say("member_frozen", window.line, text, window.since, who, **lasted)
        elif away.kind == "dead" and requests:
            text = f"{who} sends nothing any more"
            yield say("broker_expired", window.line, text, window.since, who)


def _handed_over(say: _Speaker, rounds: Sequence[Round]) -> Iterator[Statement]:
    """That all partitions that rebalances of a consumer group moved have arrived."""
    some = [h for x in rounds for h in x.handovers]
    arrived = [h for h in some if h.taken is not None]
    if arrived and not any(h.waits for h in some):
        most = max((ms for h in some if (ms := h.held_ms) is not None), default=0)
        last = max(arrived, key=lambda h: h.taken.line if h.taken else 0).taken
        assert last is not None
        text = "partitions went from member to member"
        yield say("handed_over", last.line, text, last.time, moved=len(arrived), most=seconds(most))


def _settings(say: _Speaker, found: Findings) -> Iterator[Statement]:
    for setting in found.settings[:STATEMENTS_KEPT]:
        value: dict[str, Any] = {f"setting_{setting.name.replace('.', '__')}": setting.value_ms}
        value |= {"measured": "yes"} if setting.measured else {}
        text = f"{setting.name} = {setting.value_ms} ms"
        yield say("setting", setting.line, text, who=", ".join(setting.clients[:3]), **value)
    for clash in found.conflicts:
        values = {s.name: s.value_ms for s in clash.settings}
        if values.keys() >= {SESSION, HEARTBEAT}:
            line, clients = clash.settings[0].line, clash.settings[0].clients
            yield say(
                "settings_clash",
                line,
                clash.text,
                who=", ".join(clients[:3]),
                setting_session__timeout__ms=values[SESSION],
                setting_heartbeat__interval__ms=values[HEARTBEAT],
            )
