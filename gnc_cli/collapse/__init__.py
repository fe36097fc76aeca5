"""`gnc measure`: collapse metrics of features and weights."""
