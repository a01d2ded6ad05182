"""Kafka Connect: its own assignors and its own worker in a JVM, and the comparison of groupcheck's
with them.
"""
