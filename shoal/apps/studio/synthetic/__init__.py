"""The screen Synthetic data."""
