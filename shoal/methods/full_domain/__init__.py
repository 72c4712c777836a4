"""Methods that choose one level per column for all rows."""
