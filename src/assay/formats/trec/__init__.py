"""TREC judgments and runs: lines of fields between blanks, read as fast as this machine can.

A file is read by the fastest reader that can prove it reads the file right; what it cannot prove goes to the next:

1. `lines` parses clean lines with numpy, without Polars and without making a text of what nobody looks at. It guesses
   where the fields are from the first line, then proves the guess for every line of the piece: as many blanks as a
   line has, in order, and no more. Numbers are read by `decimals`, a machine word at a time, rounded as `float` does.
2. `scan` knows what a line is (the layout of judgments and of runs) and scans lines that have one separator throughout
   with Polars.
3. `reading` reads everything else line by line: any number of blanks, comments, numbers with exponents; its errors
   name the line.

`pieces` cuts a run into pieces of whole lines and reads them on two threads, the first while other modules are still
being imported; `reading` is the door to all of it. docs/internals-trec.md has the measurements behind this.
"""
