"""Which published rows could belong to which people."""
