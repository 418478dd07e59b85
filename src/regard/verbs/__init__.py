"""One module a command: plain arguments in, verdicts out. No printing and no exit codes."""
