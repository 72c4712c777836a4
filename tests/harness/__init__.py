"""Servers, browsers, processes and users that tests start and remove again, and what `make` calls."""
