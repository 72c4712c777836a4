"""What people run: the command line, Studio and the sample tables."""
