"""Two versions of Kafka at once, or a release and a build of the user's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from groupcheck.oracles.kafka.driver import Driver
from groupcheck.oracles.kafka.own_build import own_build
from groupcheck.oracles.kafka.versions import known

Diff = tuple[str | None, str | Path]
"""What is compared: an older and a newer version, or a release (None: the nearest) and the folder
with the jars of a build."""


@contextmanager
def side_by_side(diff: Diff, *, long_run: bool = False) -> Iterator[tuple[Driver, Driver]]:
    """The drivers of both, the older one first. Raises `UserError` for a version that is not known,
    and for a folder whose jars are not those of a build.
    """
    old, new = diff
    if isinstance(new, Path):
        with (
            own_build(new, old) as build,
            Driver(build.release, long_run=long_run) as older,
            Driver(build, long_run=long_run) as newer,
        ):
            yield older, newer
    else:
        assert old is not None
        for version in (old, new):
            known(version, where="--diff")
        with Driver(old, long_run=long_run) as older, Driver(new, long_run=long_run) as newer:
            yield older, newer
