"""`regard serve`: a local web page that judges a document while it is written."""
