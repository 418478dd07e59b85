"""Pages that load nothing: the shared shell, charts and formulas."""
