"""Compares the model's coordinator with Apache Kafka's own, row by row: every reachable (memory,
input) is executed on the real coordinator.
"""
