"""One relation judged: on instances drawn at random, in limits, and confirmed in certified balls."""
