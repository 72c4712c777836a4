"""What accompanies a release: card, codebook, report and evidence pack."""
