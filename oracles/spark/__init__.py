"""Apache Spark as a place to run: sessions, the code that executors need, and what goes wrong
there, said in one line.
"""
