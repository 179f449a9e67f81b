"""Text in English, Chinese and a mixture of both: sentences, words, numbers, negation; and embeddings of it."""
