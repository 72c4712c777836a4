"""Reports that people can read: a release, its original and its policy as one HTML page."""

from shoal.reporting.report import Report, report

__all__ = ["Report", "report"]
