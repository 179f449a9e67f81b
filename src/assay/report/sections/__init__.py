"""The pages of a report, one module each: parts of a dossier in, blocks out."""
