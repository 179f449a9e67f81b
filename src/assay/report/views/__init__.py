"""What records look like: one module for each part of a result, from records to blocks. A view decides nothing."""
