"""How likely it is that a person is in the table at all."""
