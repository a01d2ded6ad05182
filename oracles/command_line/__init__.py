"""The command line: options (`cli*`), commands, `list`, `--help`, failures and standard streams.

Only `cli` is imported at the start, with modules that import click and nothing heavy; a command
imports the rest when it runs.
"""
