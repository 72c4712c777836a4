"""Where the work is done other than in this process: on a Spark cluster."""
