"""Building an evaluation set: questions made from documents, and sets as one folder with a manifest."""
