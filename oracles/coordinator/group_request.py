"""What a request has to tell a coordinator, wherever it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class GroupRequest(Protocol):
    """A request, as far as it concerns a group."""

    @property
    def version(self) -> int: ...

    @property
    def values(self) -> dict[str, Any]: ...

    @property
    def client(self) -> str: ...

    def answer(self, values: Mapping[str, Any], version: int | None = None) -> None: ...
