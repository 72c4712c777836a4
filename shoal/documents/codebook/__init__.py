"""Codebooks: what the columns and labels of a release mean, from its published rows and its policy alone."""
