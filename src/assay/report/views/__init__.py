"""Views: one module for each part of a result turns records into blocks. A view decides nothing."""
