"""Methods that hide which people of a population are in the table."""
