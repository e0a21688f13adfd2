"""Plain DuckDB SQL (macros, views, checks) and the same position functions as fast vectorised ones."""
