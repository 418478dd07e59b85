"""Answers as fields of a TOML file, read into the same documents as prose, with places in that file."""
