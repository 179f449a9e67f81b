"""How far the statements of an answer follow from its contexts: one record per sample, filled by several methods."""
