"""Numbers about attention: closed forms, engines that compute or bound them, random-key scenarios."""
