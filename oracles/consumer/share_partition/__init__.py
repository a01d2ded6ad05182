"""The records of a share partition beside Kafka's own leader of one
(kafka.server.share.SharePartition), row by row.
"""
