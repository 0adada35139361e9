"""From tokens, or hours of a machine, to dollars: with the source and date of each price, and what is not known."""
