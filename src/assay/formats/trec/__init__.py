"""TREC judgments and runs: lines of fields separated by spaces or tabs, read as fast as possible.

A file is read by the fastest reader that can prove it reads the file right; what it cannot prove goes to the next:

    lines      clean lines, with numpy alone; its numbers are read by `decimals`, rounded as `float` rounds
    scan       what a line is, and how it is tidied up; lines with one separator throughout, with Polars
    by_line    everything else, line by line, naming the line of a fault
    pieces     a run in pieces of whole queries, the first of them while other modules are imported
    reading    all rows at once; the door to all of it

docs/internals-trec.md explains how a guess is proved, how numbers are rounded, and what was measured.
"""
