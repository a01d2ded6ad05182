"""One line of the broker's request log (`kafka.request.logger`, JSON since 2.8, KIP-673) as an
exchange.

Source of the fields: RequestConvertToJson and RequestChannel of Kafka. Names are those of the
message schemas in lower camel case, bytes are base64, and fields that the version of a request does
not have are absent. Lines before 2.8 are not JSON and do not show the bytes: they are not
understood.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator
from typing import Any

from groupcheck.traces.exchanges.exchange import (
    FROM_OUTSIDE,
    CommitExchange,
    EpochExchange,
    Exchange,
    FetchExchange,
    HeartbeatExchange,
    JoinExchange,
    LeaveExchange,
    Leaver,
    SyncExchange,
)
from groupcheck.traces.lines.envelope import unwrap
from groupcheck.traces.lines.marks import plain_typography, without_bold, without_html
from groupcheck.traces.lines.timestamps import parse_time

MARK = "Completed request:"
_LONGEST_MS = 1e9
_LARGEST = 1 << 63

Fields = dict[str, Any]


class RequestNotUnderstood(ValueError):
    """A line of the request log that does not have the form that its API prescribes."""


def exchanges(number: int, line: str) -> tuple[Exchange, ...] | None:
    """The exchange of a line (several for an OffsetFetch of several groups); None if it concerns no
    group. Raises `RequestNotUnderstood`.
    """
    at, wrapped = line.find(MARK), None
    if at < 0 or '\\"requestHeader' in line:
        unwrapped = unwrap(line)
        line, at = unwrapped.line, unwrapped.line.find(MARK)
        wrapped = unwrapped.time
        if at < 0:
            return None
    try:
        at, record = decode_pasted(line, MARK)
    except (ValueError, RecursionError):
        start = line[at : at + 400]
        if any(f'"requestApiKeyName":"{name}"' in start for name in _READERS):
            raise RequestNotUnderstood("the JSON is damaged or cut") from None
        if "requestApiKeyName" in start:
            return None
        raise RequestNotUnderstood("not JSON (a line of Kafka before 2.8?)") from None
    header = _part(record, "requestHeader")
    api = header.get("requestApiKeyName")
    reader = _READERS.get(api) if isinstance(api, str) else None
    if reader is None:
        return None
    time = parse_time(line[:at])
    time = wrapped if time is None else time
    if time is None:
        raise RequestNotUnderstood("the line has no time")
    shared = _shared(number, record, header, time) | {"api": api, "size": len(line)}
    return reader(shared, _part(record, "request"), _part(record, "response"))


def _shared(number: int, record: Fields, header: Fields, time: int) -> Fields:
    """The fields of all exchanges. Parts of the time that are missing count as 0."""
    total = _ms(record, "totalTimeMs")
    waited, sending = (
        _ms(record, "requestQueueTimeMs"),
        _ms(record, "responseQueueTimeMs") + _ms(record, "sendTimeMs"),
    )
    arrived = time - total
    began, given = arrived + waited, time - sending
    if began > given:
        began, given = arrived, float(time)
    return {
        "line": number,
        "version": _int(header, "requestApiVersion", 0),
        "client": _text(header, "clientId"),
        "connection": _text(record, "connection"),
        "correlation": _int(header, "correlationId", 0),
        "arrived": arrived,
        "began": began,
        "given": given,
        "answered": time,
    }


# -- values of a file that is not trusted: a value of another type makes the line not understood


def _part(record: Any, name: str) -> Fields:
    value = record.get(name) if isinstance(record, dict) else None
    if not isinstance(value, dict):
        raise RequestNotUnderstood(f"{name} is missing")
    return value


def _int(fields: Fields, name: str, default: int | None = None) -> int:
    value = fields.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _LARGEST:
        raise RequestNotUnderstood(f"{name} is not a number")
    return value


def _code(fields: Fields) -> int | None:
    return _int(fields, "errorCode") if "errorCode" in fields else None


def _ms(fields: Fields, name: str) -> float:
    value = fields.get(name, 0.0)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 <= value <= _LONGEST_MS:
        raise RequestNotUnderstood(f"{name} is not a time")
    return float(value)


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RequestNotUnderstood(f"{name} is not text")
    return value


def _maybe_text(fields: Fields, name: str) -> str | None:
    return None if fields.get(name) is None else _text(fields, name)


def _maybe_truth(fields: Fields, name: str) -> bool | None:
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise RequestNotUnderstood(f"{name} is neither true nor false")
    return value


def _list(fields: Fields, name: str) -> list[Fields]:
    value = fields.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise RequestNotUnderstood(f"{name} is not a list")
    return value


def _bytes(fields: Fields, name: str) -> bytes:
    try:
        return base64.b64decode(_text(fields, name), validate=True)
    except (binascii.Error, ValueError):
        raise RequestNotUnderstood(f"{name} is not base64") from None


def _topic(fields: Fields) -> str:
    """Its name, or its id in versions without names (OffsetCommit and OffsetFetch 10)."""
    return _text(fields, "name") or _text(fields, "topicId")


def _of_a_member(request: Fields) -> Fields:
    return {
        "group": _text(request, "groupId"),
        "member": _text(request, "memberId"),
        "instance": _maybe_text(request, "groupInstanceId"),
    }


# -- one reader for each API


def _join(shared: Fields, request: Fields, response: Fields) -> tuple[Exchange, ...]:
    session = _int(request, "sessionTimeoutMs", 0)
    members = _list(response, "members")
    return (
        JoinExchange(
            **shared,
            **_of_a_member(request),
            code=_int(response, "errorCode"),
            session_ms=session,
            rebalance_ms=_int(request, "rebalanceTimeoutMs", session),
            protocol_type=_text(request, "protocolType"),
            protocols=tuple(
                (_text(p, "name"), _bytes(p, "metadata")) for p in _list(request, "protocols")
            ),
            reason=_maybe_text(request, "reason"),
            to_generation=_int(response, "generationId", FROM_OUTSIDE),
            chosen=_maybe_text(response, "protocolName"),
            leader=_text(response, "leader"),
            response_member=_text(response, "memberId"),
            members=tuple((_text(m, "memberId"), _bytes(m, "metadata")) for m in members),
            static=tuple(
                (_text(m, "memberId"), instance)
                for m in members
                if (instance := _maybe_text(m, "groupInstanceId")) is not None
            ),
            skips=_maybe_truth(response, "skipAssignment"),
        ),
    )


def _sync(shared: Fields, request: Fields, response: Fields) -> tuple[Exchange, ...]:
    return (
        SyncExchange(
            **shared,
            **_of_a_member(request),
            code=_int(response, "errorCode"),
            generation=_int(request, "generationId"),
            assignments=tuple(
                (_text(a, "memberId"), _bytes(a, "assignment"))
                for a in _list(request, "assignments")
            ),
            share=_bytes(response, "assignment"),
        ),
    )


def _heartbeat(shared: Fields, request: Fields, response: Fields) -> tuple[Exchange, ...]:
    return (
        HeartbeatExchange(
            **shared,
            **_of_a_member(request),
            code=_int(response, "errorCode"),
            generation=_int(request, "generationId"),
        ),
    )


def _leave(shared: Fields, request: Fields, response: Fields) -> tuple[Exchange, ...]:
    """Versions 0 to 2 name one member beside the group, newer ones a list, answered one by one."""
    code = _int(response, "errorCode")
    codes = [_code(m) for m in _list(response, "members")]
    asked = _list(request, "members") or [request]
    leavers = tuple(
        Leaver(
            member=_text(m, "memberId"),
            instance=_maybe_text(m, "groupInstanceId"),
            reason=_maybe_text(m, "reason"),
            code=code if code or k >= len(codes) else codes[k],
        )
        for k, m in enumerate(asked)
    )
    first = leavers[0]
    return (
        LeaveExchange(
            **shared,
            group=_text(request, "groupId"),
            code=code,
            member=first.member,
            instance=first.instance,
            leavers=leavers,
        ),
    )


def _commit(shared: Fields, request: Fields, response: Fields) -> tuple[Exchange, ...]:
    codes = {
        (_topic(t), _int(p, "partitionIndex")): _code(p)
        for t in _list(response, "topics")
        for p in _list(t, "partitions")
    }
    offsets = tuple(
        (
            _topic(t),
            (n := _int(p, "partitionIndex")),
            _int(p, "committedOffset"),
            codes.get((_topic(t), n)),
        )
        for t in _list(request, "topics")
        for p in _list(t, "partitions")
    )
    return (
        CommitExchange(
            **shared,
            **_of_a_member(request),
            code=_of_all([code for _, _, _, code in offsets]),
            generation=_int(
                request, "generationIdOrMemberEpoch", _int(request, "generationId", FROM_OUTSIDE)
            ),
            offsets=offsets,
        ),
    )


def _of_all(codes: list[int | None]) -> int | None:
    """The answer to the commit as a whole: 0 if some partition was stored, else the code that all
    partitions have; None if they have several.
    """
    given = {code for code in codes if code is not None}
    if 0 in given:
        return 0
    return given.pop() if len(given) == 1 else None


def _fetch(shared: Fields, request: Fields, response: Fields) -> tuple[Exchange, ...]:
    """Version 8 asks for several groups at once; older ones for one."""
    asked = _list(request, "groups")
    answered = (
        {_text(g, "groupId"): g for g in _list(response, "groups")}
        if asked
        else {_text(request, "groupId"): response}
    )
    found: list[Exchange] = []
    for g in asked or [request]:
        name = _text(g, "groupId")
        answer = answered.get(name, {})
        offsets = tuple(
            (_topic(t), _int(p, "partitionIndex"), _int(p, "committedOffset"))
            for t in _list(answer, "topics")
            for p in _list(t, "partitions")
        )
        codes = {_code(p) for t in _list(answer, "topics") for p in _list(t, "partitions")}
        found.append(
            FetchExchange(
                **shared,
                group=name,
                code=_code(answer),
                member=_text(g, "memberId"),
                offsets=offsets,
                partition_codes=tuple(sorted(code for code in codes if code)),
            )
        )
    return tuple(found)


def _epochs(protocol: str) -> Callable[[Fields, Fields, Fields], tuple[Exchange, ...]]:
    def read(shared: Fields, request: Fields, response: Fields) -> tuple[Exchange, ...]:
        return (
            EpochExchange(
                **shared,
                group=_text(request, "groupId"),
                member=_text(response, "memberId") or _text(request, "memberId"),
                instance=_maybe_text(request, "instanceId"),
                code=_int(response, "errorCode"),
                protocol=protocol,
                epoch=_int(request, "memberEpoch", 0),
                to_epoch=_int(response, "memberEpoch") if "memberEpoch" in response else None,
                owned=_partitions(request),
                assigned=_partitions(response.get("assignment")),
                interval_ms=max(0, _int(response, "heartbeatIntervalMs", 0)),
            ),
        )

    return read


def _partitions(fields: Any) -> frozenset[str] | None:
    """`topicPartitions` as names with the topics' ids; None if there are none, or no list of them
    (a streams group has tasks).
    """
    topics = fields.get("topicPartitions") if isinstance(fields, dict) else None
    if not isinstance(topics, list) or not all(isinstance(t, dict) for t in topics):
        return None
    return frozenset(
        f"{_text(t, 'topicName') or _text(t, 'topicId')}-{n}"
        for t in topics
        for n in (t.get("partitions") or ())
        if isinstance(n, int)
    )


_READERS: dict[str, Callable[[Fields, Fields, Fields], tuple[Exchange, ...]]] = {
    "JOIN_GROUP": _join,
    "SYNC_GROUP": _sync,
    "HEARTBEAT": _heartbeat,
    "LEAVE_GROUP": _leave,
    "OFFSET_COMMIT": _commit,
    "OFFSET_FETCH": _fetch,
    "CONSUMER_GROUP_HEARTBEAT": _epochs("consumer"),
    "SHARE_GROUP_HEARTBEAT": _epochs("share"),
    "STREAMS_GROUP_HEARTBEAT": _epochs("streams"),
}


# -- The JSON of a request log's line as people paste it: with the quotes doubled by a table,
# escaped, or as HTML.

_DECODE = json.JSONDecoder().raw_decode


def decode_pasted(line: str, mark: str) -> tuple[int, Any]:
    """(where the mark stands, what follows it). Raises `ValueError` or `RecursionError` if no
    reading of the line has JSON there.
    """
    failed: Exception | None = None
    for text in _readings(line):
        at = text.find(mark)
        begin = at + len(mark)
        while text[begin : begin + 1].isspace():
            begin += 1
        try:
            return at, _DECODE(text, begin)[0]
        except (ValueError, RecursionError) as e:
            failed = failed or e
    assert failed is not None
    raise failed


def _readings(line: str) -> Iterator[str]:
    yield line
    if '""' in line:
        yield line.replace('""', '"')
    if "&" in line:
        yield without_html(line)
    if '\\"' in line:
        yield line.replace('\\"', '"')
    if not line.isascii() or "**" in line:
        yield without_bold(plain_typography(line))
