"""The unit of a comparison: a name, what the real member shows, and what the model says."""

from __future__ import annotations

from typing import Any

Told = tuple[str, Any, Any]
