"""How time and memory grow, and what a GPU brings, over all commands."""
