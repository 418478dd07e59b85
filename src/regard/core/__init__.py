"""What everything else rests on: verdicts, errors, files, named random streams, child processes."""
