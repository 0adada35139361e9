"""Everything that is on disk, as immutable pydantic models. No input or output happens here."""
