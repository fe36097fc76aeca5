"""Networks on the sphere: encoders, classifiers, losses, and the loop that trains them."""
