"""Compares the model's member with that of Kafka's own Java client, row by row."""
