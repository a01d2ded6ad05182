"""Streams groups (KIP-1071): the model's coordinator beside Kafka's own. The search and the report
are those of consumer groups.
"""
