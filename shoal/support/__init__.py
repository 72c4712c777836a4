"""What every other folder may use: types, wording, randomness, registries, and the machine."""
