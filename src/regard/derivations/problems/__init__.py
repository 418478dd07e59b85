"""Problems: what the symbols of a course's questions mean, and what is asked, as TOML that anyone can write."""
