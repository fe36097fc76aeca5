"""Files: the HDF5 format of codes, foreign formats, atomic writing."""
