"""Methods that build equivalence classes around their sensitive values."""
