"""Kafka's binary messages, and those of the consumer protocol inside them."""
