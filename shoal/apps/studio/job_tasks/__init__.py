"""Long work, one file each: functions that `jobs.py` calls in a process of their own, with a `Line` to Studio."""
