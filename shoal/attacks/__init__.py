"""Adversaries that try a release before it leaves. A new one is a file here and a line in `ATTACKS`."""
