"""Logs of KIP-848 groups: runs of the model `consumer` under a clock.

`course` runs the model in the order of time; `records` turns its relative epochs into numbers, and
tells what happens to the coordinator's records in the words of `happenings`; `broker`, `requests`
and `java` print it, and `truth` keeps what really happened. `runs` puts them together.
"""
