"""Methods that cut the table into boxes, or into runs along an order."""
