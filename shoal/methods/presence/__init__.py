"""Methods that hide who of a population is in the table."""
