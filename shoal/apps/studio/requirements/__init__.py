"""The screen Promise: `screen` answers requests, `forms` reads what was sent, `view` prepares what is shown."""
