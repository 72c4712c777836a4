"""The screen Roles."""
