"""Methods that publish one value for all rows of a group: most cells are false, and all are close."""
