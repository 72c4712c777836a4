"""Reports that people can read: a release, its original and its policy as one HTML page."""
