"""What commands print, as transcripts keep it."""

from __future__ import annotations

import re
from pathlib import Path

import outputs

TRANSCRIPTS = Path(__file__).with_name("transcripts")
SHARE = re.compile(r"\d+% of the time")


def timeless(text: str) -> str:
    """The text without seconds and shares of them."""
    text = SHARE.sub("SHARE of the time", text)
    return outputs.SPEED.sub(r"\1TIME", text).replace("\x1b", "\\e")
