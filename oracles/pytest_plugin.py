"""The pytest plugin: nothing heavy is imported at pytest's start."""
