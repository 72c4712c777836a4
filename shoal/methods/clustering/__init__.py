"""Methods that group similar rows into clusters."""
