"""The plain search: the same rows as the fast one, explored in plain Python, without a compiler.
It answers small scopes, goes on while kernels are compiled, and hands its states over.
"""
