"""Methods that also replace a bounded share of cells by false values."""
