"""The screen Hand over."""
