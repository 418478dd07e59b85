import os

from regard.derivations.watch import changes


def test_a_change_is_seen_once_it_has_settled(tmp_path):
    path = tmp_path / "a.md"
    path.write_text("1")
    script = iter([
        lambda: None,
        lambda: path.write_text("22"),
        lambda: path.write_text("333"),
        lambda: None,
        lambda: None,
        lambda: os.utime(path, ns=(1, 1)),
        lambda: None,
        path.unlink,
        lambda: None,
    ])  # fmt: skip
    slept = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        next(script)()

    seen = []
    watching = changes(lambda: [path], sleep=sleep)
    for _ in range(4):
        next(watching)
        seen.append(path.read_text() if path.exists() else None)
    assert seen == ["1", "333", "333", None]


def test_a_new_file_is_a_change(tmp_path):
    files = [tmp_path / "a.md"]
    watching = changes(lambda: list(files), sleep=lambda seconds: files.append(tmp_path / "b.md") if seconds else None)
    next(watching)
    assert len(files) == 1
