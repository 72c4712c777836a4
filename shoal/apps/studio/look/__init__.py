"""The screen Look."""
