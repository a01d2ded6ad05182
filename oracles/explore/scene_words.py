"""What a scene says of each part of a state, in few words: made from the cards of a picture."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from attrs import frozen

from groupcheck.oracles.explore.picture import (
    NOTHING,
    SUMMED_UP,
    Arrow,
    Card,
    Column,
    Picture,
    Row,
)

PARTITIONS = re.compile(r"\{(?:p?\d+(?:, )?)+\}")
OWNED = ("owned", "holds")  # fields of a member that are shown as partitions
ASSIGNED = ("share", "assigned", "granted")  # fields whose partitions somebody is to get
MOST_LINES = 6  # of one box, besides its title
# Fields that are true or false -> the words for it when they are true. Of any protocol, and of the
# classic one.
TRUE = {"exists": "", "session": "session timer runs", "live": ""}
CLASSIC = "model.protocol.classic."
TRUE_OF_CLASSIC = TRUE | {
    "initial": "initial delay runs", "deadline": "sync timer runs", "appending": "append in flight",
    "led": "", "leader parked": "", "extended": "", "member": "", "new": "new",
    "join": "JoinGroup parked", "sync": "SyncGroup parked", "due": "owes SyncGroup",
    "hurried": "session timer in place of the five minutes", "rejoin": "must join again",
    "dirty": "has processed, not committed", "closing": "closes", "armed": "", "recorded": "",
    "loaded": "read from the log", "atomic": "",
}  # fmt: skip
CONSUMER = "model.protocol.consumer."
TRUE_OF_CONSUMER = TRUE | {
    "took": "", "given": "", "done": "has taken its target", "partial": "only a part of its target",
    "said": "has sent what it owns", "told": "has sent its subscription",
    "full": "its next heartbeat carries everything", "pending": "a new target is due",
    "updated": "has subscribed, not polled since", "current": "at the target's epoch",
    "stale": "does not know the last partition yet", "due": "",
}  # fmt: skip
# Fields that are no flags -> the words before them.
OF_CONSUMER = {
    "current": "has taken", "target": "is to have", "subscribed": "subscribes to",
    "topics": "existing", "held": "members hold", "revoking": "must give up",
    "previous": "previous epoch",
}  # fmt: skip
# Numbers that are shown with words behind them.
COUNTED = {
    "members": ("member", "members"), "parked": ("parked", "parked"),
    "pending": ("id without a member", "ids without a member"),
}  # fmt: skip
EMPTY = (*NOTHING, "()", "''")
SHOWN = ("committed", "processed", "phase", "state")  # even at their first value
FIELDS = {**SUMMED_UP, **dict.fromkeys(ASSIGNED, "assigned")}
HIDDEN = (
    "keeps", "support", "durable", "durable leader", "watched", "claimed", "assigned at", "id",
    "leader", "prepare", "tag",
)  # fmt: skip
WAITS_FOR_MEMBERS = "PreparingRebalance"
# What a reader who has never seen the model cannot know.
A_SEAT = "A seat is what the coordinator remembers of a member."
SQUARES = "Full squares are partitions that a member owns, outlines those that it is to get."
A_GHOST = "No broker knows what was processed: promises alone look at it."
ONE_OFFSET = "Offsets are those of partition {} alone, which stands for all."


@frozen
class Line:
    """A line of a box. `full`: all of it, with its explanation."""

    text: str
    is_changed: bool = False
    full: str = ""


@frozen
class Chips:
    """Partitions."""

    # `owns`: full squares; `stale`: outlines, for what somebody is to get.
    style: str
    partitions: tuple[int, ...]


@frozen
class BoxText:
    """What a box says."""

    title: str
    lines: tuple[Line, ...]
    chips: tuple[Chips, ...]
    # All of it in one sentence; and the card that has every field.
    words: str
    card: str
    is_changed: bool


def of_coordinator(shown: Picture) -> BoxText:
    """The first of the single slots: the coordinator, or what is shared."""
    if not shown.cards:
        return BoxText(shown.title or "shared", (), (), shown.title, "", False)
    card = shown.cards[0]
    rows = {row.name: row for row in card.rows}
    timers = list[Line]()
    if "initial" in rows and rows["phase"].value == WAITS_FOR_MEMBERS:
        delayed = rows["initial"].value == "yes"
        if not delayed:
            timers.append(Line("rebalance timer runs"))
    timers += [Line(_on_its_way(a), a.is_new, _on_its_way(a)) for a in shown.messages]
    return _said(shown.title or card.name, [card], timers)


def _on_its_way(arrow: Arrow) -> str:
    """A message of what is shared, which has no place of its own to come from."""
    value = "".join(f" {value}" for _, value in arrow.fields)
    return f"on its way: {arrow.text}{value}{f', {arrow.where}' if arrow.where else ''}"


def legend(shown: Picture) -> list[str]:
    """What the words of a scene mean, as far as they are in it."""
    found = []
    if any(column.seats for column in shown.columns):
        found.append(A_SEAT)
    rows = [r for c in shown.columns for card in (*c.cards, *c.seats) for r in _leaves(card.rows)]
    if any(r.name in (*OWNED, *ASSIGNED) and PARTITIONS.fullmatch(r.value) for r in rows):
        found.append(SQUARES)
    single = {r.name: r.value for card in shown.cards for r in card.rows}
    if "watched" in single:
        found.append(ONE_OFFSET.format(f"p{single['watched']}"))
    if "processed" in single:
        found.append(A_GHOST)
    return found


def _few(lines: list[Line]) -> tuple[Line, ...]:
    """As many as a box has room for."""
    if len(lines) <= MOST_LINES:
        return tuple(lines)
    shown = lines[: MOST_LINES - 1]
    return (*shown, Line(f"and {len(lines) - len(shown)} more"))


def of_faults(faults: Mapping[str, int]) -> BoxText:
    """The budget of faults."""
    lines = [Line(f"{name.replace('_', ' ')}: {n}") for name, n in faults.items()]
    words = ", ".join(line.text for line in lines)
    return BoxText("faults left", _few(lines), (), f"faults left: {words}", "", False)


def of_member(column: Column) -> BoxText:
    """A member's own memory. Its connection is drawn as arrows."""
    cards = [c for c in column.cards if not c.name.startswith("link[")]
    return _said(column.title, cards, ())


def of_seat(card: Card, member: str) -> BoxText:
    """What the coordinator remembers of a member: of each of its ids, where it may have several.
    What a seat owns, its member has claimed.
    """
    every = next((r for r in card.rows if r.name == "ids"), None)
    if every is None:
        return _said(_seat(member, leads=False), [card], ())
    if not every.inner:
        return BoxText("no seat", (), (), f"no seat of {member}", card.name, card.is_changed)
    lines = list[Line]()
    for row in every.inner:
        rows = list(_leaves([row]))
        if any(r.name == "member" and r.value == "no" for r in rows):
            lines.append(Line(f"{row.name} handed out, has not joined"))
        elif len(every.inner) > 1:
            lines.append(Line(f"{row.name} is a member"))
        if _is_timed(rows):
            lines.append(Line("session timer runs"))
    leads = any(r.name == "leader" and r.value not in NOTHING for r in card.rows)
    return _said(_seat(member, leads), [card], lines, {"owned": "claims"})


def _seat(member: str, leads: bool) -> str:
    return f"seat of {member.removeprefix('member ')}{', leads' if leads else ''}"


def of_card(card: Card) -> BoxText:
    """Any other slot."""
    return _said(card.name, [card], ())


def _is_timed(rows: Sequence[Row]) -> bool:
    """Does the session timer of a member run? A parked request counts as a sign of life."""
    at = {r.name: r.value for r in rows}
    return at.get("armed") == "yes" and "yes" not in (at.get("join"), at.get("sync"))


def _said(
    title: str,
    cards: Sequence[Card],
    more: Sequence[Line],
    called: Mapping[str, str] = {},
) -> BoxText:
    lines, chips = list[Line](), list[Chips]()
    for card in cards:
        true, fields = _words_of(card)
        for row in _leaves(card.rows):
            is_owned = row.name in OWNED and row.name not in called
            style = "owns" if is_owned else "stale" if row.name in ASSIGNED else ""
            found = PARTITIONS.fullmatch(row.value) if style else None
            if found:
                chips.append(Chips(style, tuple(map(int, re.findall(r"\d+", row.value)))))
            line = _line(row, called.get(row.name) or fields.get(row.name, row.name), true)
            if line is not None:
                lines.append(line)
    lines += more
    changed = any(line.is_changed for line in lines) or any(c.is_changed for c in cards)
    words = f"{title}: " + ("; ".join(line.text for line in lines) or "nothing")
    first = cards[0].name if cards else ""
    return BoxText(title, _few(lines), tuple(chips), words, first, changed)


def _words_of(card: Card) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The words for the flags of a card, and for its other fields."""
    if CLASSIC in card.source:
        return TRUE_OF_CLASSIC, FIELDS
    return (TRUE_OF_CONSUMER, FIELDS | OF_CONSUMER) if CONSUMER in card.source else (TRUE, FIELDS)


def _line(row: Row, words: str, true: Mapping[str, str]) -> Line | None:
    """A field in few words; None if it says nothing."""
    name, value, was = row.name, row.value, row.was
    before = f" (was {was})" if was else ""
    full = f"{name} {value}{before}. {row.note} {row.source}".strip()
    if name in HIDDEN:
        return None
    if (name in true and not PARTITIONS.fullmatch(was or value)) or value in ("yes", "no"):
        words = true.get(name, name)
        if row.is_quiet and name not in true:
            return None
        if value == "yes" and words:
            return Line(words, was is not None, full)
        return Line(_ended(words), True, full) if was == "yes" and words else None
    if was is None and (value in EMPTY or (row.is_quiet and name not in SHOWN)):
        return None
    if name in COUNTED:
        text = f"{value} {COUNTED[name][value != '1']}"
        return Line(text + before, was is not None, full)
    shown = "nothing" if value in NOTHING else value
    return Line(f"{words} {shown}{before}".strip(), was is not None, full)


def _ended(words: str) -> str:
    """What was true before the step."""
    for ending in (" runs", " in flight"):
        if words.endswith(ending):
            return f"{words.removesuffix(ending)} ended"
    return f"no longer: {words}"


def _leaves(rows: Sequence[Row]) -> Iterator[Row]:
    """The fields that hold no others. Of a message there is an arrow."""
    for row in rows:
        if row.inner:
            yield from () if row.is_quiet else _leaves(row.inner)
        else:
            yield row
