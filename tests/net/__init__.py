"""A net under every command: what it prints and writes today, reduced to numbers, marks and statuses."""
