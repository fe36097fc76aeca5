"""`gnc train`: collapse on glyphs, and the paper's figures on real images."""
