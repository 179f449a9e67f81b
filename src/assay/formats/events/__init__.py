"""Reading event logs: UBI in JSON lines, tables and Parquet, each row of which is kept, set aside or counted."""
