"""`make fuzz`: random tables, policies, methods and formats through the public verbs, checked by oracles/checker."""
