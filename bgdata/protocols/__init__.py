"""Games with other programs, each protocol a module: what is asked, what is answered, and what is wrong with a line."""
