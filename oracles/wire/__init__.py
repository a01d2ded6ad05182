"""Kafka's group APIs as bytes, and the sockets that carry them: what all doors speak with that talk
to a broker or to a client.
"""
