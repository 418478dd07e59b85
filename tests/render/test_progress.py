import io
import re
import time

from rich.console import Console

from regard.render.progress import progress


def test_progress_shows_on_a_terminal_once_patience_is_over():
    stream = io.StringIO()
    with progress(Console(file=stream, force_terminal=True), "deciding", patience=0) as report:
        report(1, 2)
        time.sleep(0.3)
        report(2, 2)
    assert "deciding" in stream.getvalue()


def test_progress_is_silent_when_all_is_quick():
    for console in (Console(file=io.StringIO(), force_terminal=True), Console(file=io.StringIO())):
        with progress(console, "deciding") as report:
            report(1, 1)
        assert "deciding" not in console.file.getvalue()


def test_progress_tells_a_log_now_and_then(monkeypatch):
    clock = iter([0.0, 1.0, 30.0, 60.0, 90.0, 180.0, 240.0])
    monkeypatch.setattr("regard.render.progress.monotonic", lambda: next(clock))
    console = Console(file=io.StringIO())
    with progress(console, "deciding") as report:
        for done in (5, 6, 7, 8, 9, 13):
            report(done, 13)
    assert console.file.getvalue().splitlines() == [
        "deciding: 7 of 13 after 1 min, about 3 min left",
        "deciding: 9 of 13 after 3 min, about 3 min left",
    ]


def test_progress_of_unknown_length_shows_only_the_time_elapsed():
    stream = io.StringIO()
    with progress(Console(file=stream, force_terminal=True, width=80), "measuring", patience=0):
        time.sleep(0.3)
    assert "elapsed" in stream.getvalue()
    assert "left" not in stream.getvalue()
    assert "?" not in re.sub(r"\x1b\[[?\d;]*\w", "", stream.getvalue())
