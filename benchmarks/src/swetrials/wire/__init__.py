"""The three API dialects, and the rehearsal server that speaks them."""
