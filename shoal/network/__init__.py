"""Social networks: nodes with attributes and edges between them, published as clusters that look alike inside.

`anonymize_network` tells the whole story; `read_network` reads graphs, `MaskedNetwork` is what is published.
"""
