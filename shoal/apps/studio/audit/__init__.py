"""The screen Audit."""
