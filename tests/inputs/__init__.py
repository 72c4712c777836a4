"""Tables, policies and files that several tests use."""
