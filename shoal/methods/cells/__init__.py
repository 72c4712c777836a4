"""Methods that generalize each row separately."""
