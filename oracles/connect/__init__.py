"""Kafka Connect: its own assignors and its own worker in a JVM, and the comparison of groupcheck's
with them.

`java` and `driver` are the JVM, `rounds` has rounds as text and facts, `inputs` and `cluster` the
families of rounds, `comparing` their comparison, `command` is `conform connect`.
"""
