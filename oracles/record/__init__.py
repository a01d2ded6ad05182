"""Real recordings: Apache Kafka's own broker with its request log on, real clients, and what really
happened.
"""
