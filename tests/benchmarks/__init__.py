"""`make bench` measures the speed table, with other programs if they are installed."""
