"""`gnc train`: networks on the sphere or with weight decay."""
