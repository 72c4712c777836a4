"""The screen Compare: `screen` answers requests, `view` prepares what is shown, `trials` keeps what is known so far."""
