"""Java's member of a consumer group (KIP-848) in the model beside Kafka's own: every step of its
two threads, and every answer, in every memory that they reach. Kafka's side is AsyncKafkaConsumer
as a whole; its background goes round part by part, so that each step is one of the model's.
"""
