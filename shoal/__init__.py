"""Shoal turns personal data into releases that are safe to publish: safety in numbers."""

__version__ = "0.1.0"
