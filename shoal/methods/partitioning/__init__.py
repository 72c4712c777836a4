"""Methods that split the table into boxes, or into runs along an order of the rows."""
