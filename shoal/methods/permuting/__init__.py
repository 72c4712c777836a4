"""Methods that keep values and shuffle them within buckets."""
