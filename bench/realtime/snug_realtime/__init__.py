"""Threads with deadlines, beside other allocators: single calls timed, beside load."""
