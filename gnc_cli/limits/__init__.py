"""`gnc bounds`: what is possible for (d, K), one theorem per file."""
