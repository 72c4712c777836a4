"""Social networks: nodes with attributes and edges between them, published as clusters whose members look equal.

`anonymize_network` runs everything; `read_network` reads graphs, `MaskedNetwork` is what is published.
"""
