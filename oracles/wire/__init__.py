"""Raw requests of the group APIs to a real broker, over the socket, and the model's answer to the
same.
"""
