"""Reading and writing judgments, runs, records and results, in the formats that people have."""
