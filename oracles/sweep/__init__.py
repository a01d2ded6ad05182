"""Many checks from one file: `groupcheck sweep` (docs/sweep.md)."""
