"""Which people could be behind which published rows."""
