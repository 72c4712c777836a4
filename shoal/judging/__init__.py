"""Whether a release is safe and useful: models, measures, attacks, and the case that they are applied to."""
