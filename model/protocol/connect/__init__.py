"""Kafka Connect's workers: the classic group's coordinator with other members (KIP-415)."""
