"""Records that the coordinator stored in `__consumer_offsets`, as Kafka's tools print them."""
