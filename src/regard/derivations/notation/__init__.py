"""LaTeX mathematics as people write it, read into typed trees."""
