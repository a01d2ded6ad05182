"""Processes: the three that the program is, and those that it starts."""
