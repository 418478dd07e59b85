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


@pytest.fixture(scope="session")
def small_run(tmp_path_factory):
    """Makes a prepared run of so many steps in a new folder: `small_run(steps=20)`."""
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    pytest.importorskip("tokenizers")
    from regard.training.data.biographies import Biographies
    from regard.training.folder import RunFolder
    from regard.training.plan import Plan
    from regard.training.preparing import prepare, synthetic_material
    from regard.training.recipe import load_recipe

    def make(*, steps: int, recipe: str = "fast", changes=(), material=None, **more) -> RunFolder:
        chosen = load_recipe(recipe, [*SETTINGS, *changes])
        prepared = prepare(material or synthetic_material(Biographies(people=24), seed=0), chosen)
        folder = RunFolder(Path(tmp_path_factory.mktemp("run")) / "run")
        folder.create()
        folder.write_data(prepared)
        plan = Plan(recipe=chosen, steps=steps, seed=0, vocab_size=len(prepared.vocabulary), **more)
        folder.write_plan(plan)
        return folder

    return make


def quiet(message: dict) -> None:
    """Hears nothing."""
    del message


def copied(folder, place: Path):
    """The same run elsewhere, to be damaged."""
    shutil.copytree(folder.path, place)
    return type(folder)(place)


@pytest.fixture(scope="session")
def prepared(small_run):
    """A run of twelve steps that is not begun."""
    return small_run(steps=12, checkpoint_every=3, evaluate_every=6)


@pytest.fixture(scope="session")
def finished(prepared, tmp_path_factory):
    """The same run, finished."""
    from regard.training.crew import solo
    from regard.training.working import work

    folder = copied(prepared, tmp_path_factory.mktemp("finished") / "run")
    work(folder, solo(), quiet)
    return folder
