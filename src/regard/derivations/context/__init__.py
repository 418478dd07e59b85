"""Documents in context: which question each formula belongs to, what its words say, and the verdict on each step."""
