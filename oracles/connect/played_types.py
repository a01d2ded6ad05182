"""The types of the document that `connect-rounds --json` prints."""

from __future__ import annotations

from typing import Annotated

from attrs import frozen

from groupcheck.oracles.show.json_schemas import Count, Positive


@frozen(kw_only=True)
class WorkerInRound:
    """One worker in one round."""

    worker: Annotated[str, "Its name."]
    reports: Annotated[list[str], "The tasks that its JoinGroup says it runs."]
    assigned: Annotated[list[str], "What the answer tells it to start."]
    revoked: Annotated[list[str], "What the answer tells it to stop."]
    delay_ms: Annotated[Count, "In how many ms to join again; 0: not by itself."]
    runs: Annotated[list[str], "What it runs after the answer."]


@frozen(kw_only=True)
class RoundOfWorkers:
    """One round."""

    at_ms: Annotated[Count, "When it is, in ms after the first one."]
    generation: Annotated[Positive, "The generation that it begins."]
    leader: Annotated[str, "The worker whose plan it is."]
    nobodys: Annotated[list[str], "Tasks that no worker runs after it."]
    workers: Annotated[list[WorkerInRound], "Who joins, in order."]


@frozen(kw_only=True)
class ConnectRoundsDocument:
    """What `groupcheck connect-rounds --json` prints."""

    max_delay_ms: Annotated[Count, "scheduled.rebalance.max.delay.ms."]
    before: Annotated[dict[str, list[str]], "What each worker runs before the first round."]
    rounds: Annotated[list[RoundOfWorkers], "The rounds, in order."]
