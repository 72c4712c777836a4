"""The probability that a person is in the table at all."""
