"""`regard lsp`: a language server that judges Markdown and LaTeX as they are written."""
