"""The type of a build that `--jars` names."""

from __future__ import annotations

from typing import Annotated

from attrs import frozen

from groupcheck.oracles.show.json_schemas import Also


@frozen(kw_only=True)
class Jar:
    """A jar."""

    name: Annotated[str, "Its file name."]
    sha256: Annotated[str, Also(pattern="^[0-9a-f]{64}$"), "The SHA-256 digest of its bytes."]


@frozen(kw_only=True)
class Build:
    """With `--jars`: the build that is the newer one."""

    version: Annotated[str, "The version that the jar of Kafka's clients names."]
    commit: Annotated[str, "The commit that it names; `unknown` if it names none."]
    release: Annotated[
        str, "The release with which the build is compared: the nearest one, or that of `--kafka`."
    ]
    driver: Annotated[
        str,
        "The source of the driver that compiles against the jars, named after the first release"
        " that it serves.",
    ]
    jars: Annotated[list[Jar], "The jars of Kafka itself."]
