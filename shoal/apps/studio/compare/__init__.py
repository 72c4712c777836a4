"""The screen Compare: `screen` answers requests, `forms` reads what was sent, `view` prepares what is shown."""
