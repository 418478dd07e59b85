"""A run small enough for a test, with everything that a real one has."""

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
]


@pytest.fixture(scope="session")
def small_run(tmp_path_factory):
    """Makes a prepared run of so many steps in a new folder: `small_run(steps=20)`."""
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    pytest.importorskip("tokenizers")
    from regard.data.biographies import Biographies
    from regard.training.folder import RunFolder
    from regard.training.plan import Plan
    from regard.training.preparing import prepare, synthetic_material
    from regard.training.recipe import load_recipe

    def make(*, steps: int, recipe: str = "fast", changes=(), material=None, **more) -> RunFolder:
        chosen = load_recipe(recipe, [*SETTINGS, *changes])
        prepared = prepare(material or synthetic_material(Biographies(people=24), seed=0), chosen)
        folder = RunFolder(Path(tmp_path_factory.mktemp("run")) / "run")
        folder.create()
        facts = prepared.material
        folder.write_data(prepared.encoded, prepared.vocabulary, facts.held_out, facts.commonest_answer)
        plan = Plan(recipe=chosen, steps=steps, seed=0, vocab_size=len(prepared.vocabulary), **more)
        folder.write_plan(plan)
        return folder

    return make
