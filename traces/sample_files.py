"""The samples that are installed with the package: `sample:NAME` can stand in place of any file
that groupcheck reads. In a checkout they are links to the files that the tests use.
"""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from groupcheck.model.engine.errors import UserError

FOLDER = Path(__file__).with_name("samples")
PREFIX = "sample:"


@frozen
class Sample:
    """A file in the folder of samples, the command that reads it, and what is to be seen in it."""

    file: str
    command: str
    doc: str


SAMPLES = {
    "ghost-members": Sample(
        "ghost-members.log.gz",
        "replay",
        "A broker's log, Kafka 3.x: a client joins 234 times under new ids while the group waits"
        " 136 s for a dead member.",
    ),
    "console-group": Sample(
        "console-group.log",
        "replay",
        "A broker's log, Kafka 4.1: console consumers join and leave two groups.",
    ),
    "consumer-protocol": Sample(
        "consumer-protocol.log",
        "replay",
        "A broker's log at DEBUG, Kafka 4.3: consumers of KIP-848 come and go, and one is killed.",
    ),
    "zombie": Sample(
        "zombie.requests.log.gz",
        "replay",
        "A broker's request log: a member sleeps past its session timeout, wakes up and commits.",
    ),
    "rolling-restart": Sample(
        "rolling-restart.requests.log.gz",
        "replay",
        "A broker's request log: three members are restarted one after the other, under new names.",
    ),
    "printed-range": Sample(
        "printed-range.json", "assign", "An assignment that an article printed; it is wrong."
    ),
    "sticky": Sample("sticky.json", "assign", "An assignment after a member joined; it is right."),
    "sequence": Sample(
        "sequence.json", "assign", "A group's day under cooperative-sticky: five rebalances."
    ),
    "sweep": Sample(
        "sweep.toml", "sweep", "27 checks: small scopes that hold, and known bugs to be found."
    ),
}


def resolve_sample(path: str | Path) -> Path:
    """The file to open for a path: `sample:NAME` is a file of the package. Raises `UserError` if
    there is no such sample.
    """
    text = str(path)
    if not text.startswith(PREFIX):
        return Path(path)
    sample = SAMPLES.get(text.removeprefix(PREFIX))
    if sample is None:
        names = ", ".join(SAMPLES)
        raise UserError("there is no such sample", where=text, do=f"choose one of {names}")
    return FOLDER / sample.file
