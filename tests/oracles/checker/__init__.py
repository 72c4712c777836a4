"""An independent checker of releases: it reads the bytes that left with other readers, and judges by the definitions.

Nothing here imports the package. `readers` turns files and frames into cells, `cells` compares a cell with a value of
the original, `labels` says what a generalized cell covers, `checks` judges. tests/oracles/outsider.py has the rules of
the models.
"""
