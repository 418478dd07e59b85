"""The page of a training: live while it runs, with the arms of a demonstration side by side."""

import pytest

pytest.importorskip("torch")

from page_checks import check_self_contained
from regard.render.terminal import percent
from regard.training.page import LivePage, render_runs
from regard.training.process_group import ProcessGroup
from regard.training.train import report_on
from regard.training.worker import work
from training.conftest import copied, quiet

PLANNED = {"kind": "plan"}


@pytest.fixture(scope="module")
def scratch(small_run):
    """The other arm of a demonstration, which has not started."""
    return small_run(steps=12, recipe="scratch", evaluate_every=6)


def test_the_arms_are_compared_with_their_answers(finished, scratch, tmp_path):
    waiting = [report_on(finished.path), report_on(scratch.path)]
    page = check_self_contained(render_runs(waiting, is_live=True))
    assert "Training (without pre-training): step 0 of 12. This page updates itself, last at " in page.text
    assert page.text.count("not asked yet") == 8
    done = copied(scratch, tmp_path / "scratch")
    work(done, ProcessGroup(), quiet)
    both = [report_on(finished.path), report_on(done.path)]
    page = check_self_contained(render_runs(both))
    assert "not asked yet" not in page.text
    assert "With pre-training " in page.text
    for report in both:
        assert [sample.question for sample in report.samples] == [each.text for each in finished.held_out()[:8]]
        said = [f"{sample.prediction} ({percent(sample.probability)})" for sample in report.samples]
        assert all(answer in page.text.replace("\xa0", " ") for answer in said)
        assert all(sample.is_right == (sample.prediction == sample.answer) for sample in report.samples)


def test_the_page_updates_itself_until_the_training_ends(prepared, tmp_path, monkeypatch):
    monkeypatch.setattr("regard.training.page._PAUSE", 600)
    folder, file = copied(prepared, tmp_path / "run"), tmp_path / "page.html"
    with LivePage([folder.path], [file]) as page:
        page.update({"kind": "doing", "text": "measuring"})
        assert not file.exists()
        page.update(PLANNED)
        live = file.read_text(encoding="utf-8")
        assert '<meta http-equiv="refresh" content="600">' in live
        assert "step 0 of 12. This page updates itself, last at " in live
        work(folder, ProcessGroup(), page.update)
        assert file.read_text(encoding="utf-8") == live, "it is not written again within the pause"
    ended = file.read_text(encoding="utf-8")
    assert 'http-equiv="refresh"' not in ended
    assert "Held-out questions answered correctly" in ended


def test_a_training_that_stops_says_how_to_continue_it(prepared, tmp_path):
    folder, file = copied(prepared, tmp_path / "run"), tmp_path / "page.html"
    page = LivePage([folder.path], [file])
    page.update(PLANNED)
    page.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    text = file.read_text(encoding="utf-8")
    assert 'http-equiv="refresh"' not in text
    assert f"Stopped (fast): step 0 of 12. Continue with: regard train resume {folder.path}" in text


def test_a_browser_shows_the_new_version_by_itself(prepared, browser, tmp_path):
    folder, file = copied(prepared, tmp_path / "run"), tmp_path / "page.html"
    tab = browser.new_page()
    with LivePage([folder.path], [file]) as page:
        page.update(PLANNED)
        tab.goto(file.as_uri())
        assert "step 0 of 12" in tab.inner_text("main")
        work(folder, ProcessGroup(), quiet)
    tab.wait_for_selector("text=Some answers", timeout=15_000)
    assert "This page updates itself" not in tab.inner_text("main")
    tab.close()
