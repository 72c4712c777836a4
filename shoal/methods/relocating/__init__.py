"""Methods that relocate rows: a bounded share of their cells is false."""
