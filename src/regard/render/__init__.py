"""Reports made readable: terminal, JSON, HTML, charts, MathML. Nothing here knows a domain type."""
