"""The explorer: a read-only site over a warehouse, which `bgdata serve` opens. Needs the extra `web`."""
