"""Images as NumPy arrays: glyphs of fonts, CIFAR, class folders, HDF5."""
