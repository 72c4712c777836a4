"""Synthetic tables of any tool, audited from outside: what they give away about the rows that they were trained on.

There is no release here, no class and no policy: a synthetic table, the table that it was trained on, and a holdout of
people from the same population on whom it was not trained. Every attack is tried on rows of both.
"""
