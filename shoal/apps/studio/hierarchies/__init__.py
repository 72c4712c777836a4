"""The screen Hierarchies: `screen` answers requests, `forms` reads what was sent, `view` prepares what is shown."""
