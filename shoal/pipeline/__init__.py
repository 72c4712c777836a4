"""The public verbs: `anonymize`, `audit`, `attack`, `assess`, `compare` and `explain`."""
