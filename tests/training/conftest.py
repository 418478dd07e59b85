"""A run small enough for a test, with everything that a real one has."""

import shutil
from pathlib import Path

import pytest

SETTINGS = [
    "model.width=32",
    "model.num_heads=2",
    "model.hidden=64",
    "model.ngram_rows=512",
    "tokens.size=400",
    "batch.rows=4",
    "batch.length=64",
    "batch.candidates=128",
]


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Models this small are faster without threads, much more so on a busy machine."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def small_run(tmp_path_factory):
    """Prepares a run with this many steps in a new folder: `small_run(steps=20)`."""
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    pytest.importorskip("tokenizers")
    from regard.training.data.biographies import Biographies, make_biographies
    from regard.training.planning import prepare_lessons
    from regard.training.recipe import RunPlan, load_recipe
    from regard.training.run_folder import RunFolder

    def make(*, steps: int, recipe: str = "fast", changes=(), data=None, **more) -> RunFolder:
        chosen = load_recipe(recipe, [*SETTINGS, *changes])
        data = data or make_biographies(Biographies(people=24), seed=0)
        lessons = prepare_lessons(data, chosen)
        folder = RunFolder(Path(tmp_path_factory.mktemp("run")) / "run")
        folder.create(data, lessons)
        folder.write_plan(RunPlan(recipe=chosen, steps=steps, seed=0, vocab_size=len(lessons.vocabulary), **more))
        return folder

    return make


def quiet(message: dict) -> None:
    """Ignores messages."""
    del message


def copied(folder, place: Path):
    """The same run elsewhere, to be damaged."""
    shutil.copytree(folder.path, place)
    return type(folder)(place)


@pytest.fixture(scope="session")
def prepared(small_run):
    """A run of twelve steps that has not started."""
    return small_run(steps=12, checkpoint_every=3, evaluate_every=6)


@pytest.fixture(scope="session")
def finished(prepared, tmp_path_factory):
    """The same run, finished."""
    from regard.training.process_group import ProcessGroup
    from regard.training.worker import work

    folder = copied(prepared, tmp_path_factory.mktemp("finished") / "run")
    work(folder, ProcessGroup(), quiet)
    return folder
