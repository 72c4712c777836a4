"""Write the computed sentences anew."""

from experiments.claims import rewrite

rewrite()
