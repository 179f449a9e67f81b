"""The pages of a report, one module each: parts of a report_data in, blocks out."""
