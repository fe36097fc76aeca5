"""`gnc bounds`: how narrow, how fast, and the certificates it reads."""
