"""Lines of a Java client about its member, and the story that they tell."""

from __future__ import annotations

from groupcheck.traces.causes.evidence import Evidence
from groupcheck.traces.clients.client_log import ClientLog
from groupcheck.traces.members.group_story import GroupStory
from groupcheck.traces.story.events import RebalanceCause

IDS = tuple(f"c-{n}f1c0a4e-6a4b-4a6e-9d39-8a3b7a1b2c3d" for n in range(3))


def line(at: int, text: str, who: str = "c") -> str:
    """A line of the client `who` at the second `at`."""
    return f"[2024-05-01 10:00:{at:02},000] INFO [Consumer clientId={who}, groupId=g] {text}"


def joined(at: int, n: int, id: str, who: str = "c") -> str:
    """It joins generation `n` as the member `id`."""
    generation = f"Generation{{generationId={n}, memberId='{id}', protocol='range'}}"
    return line(at, f"Successfully joined group with generation {generation}", who)


def heard(*lines: str) -> Evidence:
    evidence = Evidence()
    evidence.add_all(ClientLog().statements(enumerate(lines, 1)))
    return evidence


def told(*lines: str) -> GroupStory:
    (group,) = heard(*lines).by_group()
    return group.story


def causes(*lines: str) -> list[RebalanceCause]:
    return [r.cause for r in told(*lines).timeline.rounds]
