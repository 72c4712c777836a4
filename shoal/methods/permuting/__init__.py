"""Methods that publish exact values, and shuffle them within buckets."""
