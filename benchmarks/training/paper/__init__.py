"""The figures of arXiv 2310.05351 on real images."""
