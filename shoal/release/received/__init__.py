"""Releases as they were received, from Shoal or any other tool: their rows, record and making, and earlier ones."""
