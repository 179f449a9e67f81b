"""Watching a log while it grows: windows of event time, each counted once.

`watcher` reads what is new and closes windows, `state` keeps on disk what must not be lost or counted twice, `feeds`
read rows of files, `measuring` computes the measures of a window, and `settings` says how all of it is done.
"""
