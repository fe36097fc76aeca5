"""Analysis of a given code: certificate, rattlers, contacts, congruence, exact digits."""
