"""Packet captures of Kafka's group APIs, as lines of a request log."""
