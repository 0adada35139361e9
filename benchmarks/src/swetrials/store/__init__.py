"""Where files go, atomic writes, redaction, reading what people write."""
