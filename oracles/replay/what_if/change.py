"""The change that `--what-if` asks for: protocols and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from attrs import frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.replay.what_if.protocols import COOPERATIVE, EAGER, OF_CONSUMER, WORDS
from groupcheck.oracles.simulate import Assumptions, documented, with_settings
from groupcheck.oracles.simulate.assumptions import named, near_setting, number_of

EFFECTIVE = (
    "heartbeat_interval_ms",
    "session_timeout_ms",
    "max_poll_interval_ms",
    "initial_rebalance_delay_ms",
    "new_member_timeout_ms",
    "retry_backoff_ms",
    "request_timeout_ms",
    "network_ms",
    "service_ms",
    "answer_ms",
    "append_ms",
    "assign_ms_per_partition",
    "bytes_per_ms",
    "other_requests_per_s",
    "loss",
    "processing_ms",
    "revoke_ms",
    "resume_ms",
    "records_per_s",
    "capacity_per_s",
    "pause_every_s",
    "pause_ms",
    "metadata_bytes",
    *OF_CONSUMER,
)
"""The assumptions that can change what follows from the events of a log. The others belong to
scenarios, to other protocols, or to figures that an answer does not have.
"""
LEAST_SESSION_MS, MOST_SESSION_MS = 6_000, 1_800_000
"""Kafka 4.3.0: defaults of group.min.session.timeout.ms and group.max.session.timeout.ms."""


@frozen
class Change:
    """The difference that the question supposes: words, and assumptions by name."""

    words: tuple[str, ...]
    settings: Mapping[str, str]


def changes(given: Sequence[str]) -> Change:
    """The change that texts such as `static` and `session.timeout.ms=60000` mean. Raises
    `UserError`.
    """
    words: list[str] = []
    settings: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            words.append(_word(text, words))
            continue
        known = assumption(name)
        if known in settings:
            raise UserError(f"{name} is given twice", where="--what-if")
        settings[known] = value
    if not words and not settings:
        raise UserError("is empty", where="--what-if", do="give static, for example")
    each_valid(settings)
    return Change(tuple(dict.fromkeys(words)), settings)


def _word(text: str, words: Sequence[str]) -> str:
    if text == "classic":
        raise UserError(
            "'classic' groups rebalance eagerly or cooperatively",
            where="--what-if",
            do=f"give {EAGER} or {COOPERATIVE}",
        )
    if text not in WORDS:
        near = get_close_matches(text, WORDS, 1)
        raise UserError(
            f"{text!r} is neither a protocol nor NAME=VALUE",
            where="--what-if",
            do=f"did you mean {near[0]}?"
            if near
            else "one of " + ", ".join(WORDS) + ", or a setting such as session.timeout.ms=60000",
        )
    if any(type(WORDS[text]) is type(WORDS[other]) and other != text for other in words):
        raise UserError(f"{text} contradicts another --what-if", where="--what-if")
    return text


def assumption(name: str) -> str:
    """The assumption that a setting's name means, with dots as Kafka writes it or without. Raises
    `UserError`.
    """
    plain = named(name)
    if plain not in documented():
        near = near_setting(name, EFFECTIVE)
        raise UserError(
            f"there is no setting {name!r} in simulations",
            where="--what-if",
            do=f"did you mean {near}?" if near else "one of " + ", ".join(EFFECTIVE),
        )
    if plain not in EFFECTIVE:
        raise UserError(
            f"{name} has no effect on the events of a log",
            where="--what-if",
            do="one of " + ", ".join(EFFECTIVE),
        )
    return plain


def each_valid(settings: Mapping[str, str]) -> None:
    """Checks each value by itself: which values go together depends on what a log tells. Raises
    `UserError`.
    """
    wide = with_settings(
        {
            "heartbeat_interval_ms": 1,
            "session_timeout_ms": 9e14,
            "consumer_heartbeat_interval_ms": 1,
            "consumer_session_timeout_ms": 9e14,
            "records_per_s": 0,
            "capacity_per_s": 9e14,
        }
    )
    for name, value in settings.items():
        with_settings({name: value}, wide)


def after(change: Change, before: Assumptions, told: Mapping[str, object]) -> Assumptions:
    """The assumptions after the change. `told`: names of those that are known, not assumed. Raises
    `UserError` for values that Kafka's client refuses.
    """
    beat, session = "heartbeat_interval_ms", "session_timeout_ms"
    values = {
        name: number_of(name, change.settings.get(name, getattr(before, name)))
        for name in (beat, session)
    }
    if values[beat] >= values[session]:
        raise UserError(
            f"heartbeat.interval.ms is {values[beat]:g}{_source(beat, change, told)}, and"
            f" session.timeout.ms {values[session]:g}{_source(session, change, told)} is no longer:"
            " Kafka's client refuses that",
            where="--what-if",
            do="change both, as in --what-if session.timeout.ms=10000"
            " --what-if heartbeat.interval.ms=3000",
        )
    return with_settings(change.settings, before)


def _source(name: str, change: Change, told: Mapping[str, object]) -> str:
    if name in change.settings:
        return ""
    return " (from the log or --set)" if name in told else " (assumed)"
