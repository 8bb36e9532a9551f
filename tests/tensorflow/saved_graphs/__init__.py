"""Graphs as people save them, made by the real TensorFlow in a process of its own: `python -m ... FOLDER`."""
