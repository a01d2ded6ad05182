"""The sockets that carry Kafka's messages: what all doors speak with that talk to a broker or to a
client.
"""
