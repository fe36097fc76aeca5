"""What is possible for K points in d dimensions: one bound a file, each with its theorem."""
