"""The screen Network."""
