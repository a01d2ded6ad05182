"""The classic group protocol: coordinator, members, offsets, and how a step of theirs is told."""
