"""What is published: the proposal of a method, its rows, and what an outsider reads in them."""

from shoal.release.release import Release, ValueSets, closures

__all__ = ["Release", "ValueSets", "closures"]
