"""Methods that gather similar rows into clusters."""
