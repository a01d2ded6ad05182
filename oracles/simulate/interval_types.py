"""The type of a mean with its interval, in the documents of whatever simulates."""

from __future__ import annotations

from typing import Annotated

from attrs import frozen


@frozen(kw_only=True)
class Interval:
    """A mean with its t interval."""

    mean: Annotated[
        float | None,
        "The mean over replications; of a ratio the geometric one. Null: it never ended in some.",
    ]
    low: Annotated[float | None, "Lower end of the 95 % t interval; null without one."]
    high: Annotated[float | None, "Upper end of it; null without one."]
