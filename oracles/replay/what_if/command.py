"""`groupcheck replay LOG --what-if CHANGE`: from options to an answer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic

from groupcheck.model.engine import UserError
from groupcheck.model.engine.resident import cores
from groupcheck.oracles.printable import printable
from groupcheck.oracles.replay.report import replay
from groupcheck.oracles.replay.what_if.answer import WhatIf, what_if
from groupcheck.oracles.replay.what_if.change import changes
from groupcheck.oracles.replay.what_if.document import document
from groupcheck.oracles.replay.what_if.settings import given_settings
from groupcheck.oracles.replay.what_if.view import view
from groupcheck.oracles.show.meter import reports
from groupcheck.oracles.show.terminal import EXIT_CODES, answer, say
from groupcheck.oracles.simulate.progress import progress_line


def _progress_text(group: str, began: float, done: int, total: int, _: float) -> str:
    """One line for a terminal. `began`: when the group's first simulation did."""
    return f"{printable(group)}: {progress_line(done, total, monotonic() - began)}"


def run(
    files: Sequence[Path],
    given: Sequence[str],
    *,
    format: str | None,
    group: str | None,
    settings: Sequence[tuple[str, str]],
    partitions: int | None,
    replications: int | None,
    seed: int | None,
    workers: int | None,
    as_json: bool,
    html: Path | None,
) -> int:
    """Reads the logs, simulates each group and prints the answer. Exit code: 0, or 3 if no answer
    can be trusted. Raises `UserError`, before anything runs where it can.
    """
    change = changes(given)
    given_settings(dict(settings))
    if html is not None:
        from groupcheck.oracles.simulate.uses.plots import needed

        needed("--html")
    found: list[WhatIf] = []
    refused: list[UserError] = []

    interrupted = False
    with reports(_progress_text) as report, suppress(KeyboardInterrupt):
        interrupted = True  # unless the block comes to its end
        for file in replay(files, format=format, group=group):
            for one in file.groups:
                try:
                    found.append(
                        what_if(
                            one,
                            file.path,
                            change,
                            given=dict(settings),
                            partitions=partitions,
                            replications=replications,
                            seed=seed or 0,
                            workers=workers or cores(),
                            partial_answer=True,
                            watch=report and partial(report, one.group, monotonic()),
                        )
                    )
                except UserError as error:
                    refused.append(error)
                if found and found[-1].reason:
                    raise KeyboardInterrupt
        interrupted = False
    if not found:
        raise _nothing(interrupted, refused)
    answer(lambda: document(found), lambda: view(found), as_json)
    for other in refused:
        say(str(other))
    if html is not None:
        _write(found, html)
    if interrupted:
        say("interrupted: groups that would come after this one are not there")
    answered = any(one.verdict == "answered" for one in found)
    return 0 if answered and not interrupted else EXIT_CODES["unknown"]


def _write(found: Sequence[WhatIf], html: Path) -> None:
    from groupcheck.oracles.replay.what_if.plot import write_html

    write_html(found, html)
    more = "; it shows the group with the most rebalances" if len(found) > 1 else ""
    say(f"wrote {html}{more}")


def _nothing(interrupted: bool, refused: Sequence[UserError]) -> BaseException:
    """Why there is no answer."""
    if interrupted:
        return KeyboardInterrupt()
    if refused:
        return refused[0]
    return UserError(
        "no group in these logs has a rebalance",
        where="--what-if",
        do="give the log of the broker that coordinates the group, or its request log",
    )
