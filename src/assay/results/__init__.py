"""What was found out: frozen records that every analysis returns, every file holds and every view shows."""
