"""Evidence packs: a release with everything that defends it, in one folder that anyone can check."""
