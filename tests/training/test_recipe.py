import pytest

pytest.importorskip("tokenizers")

from regard.core.errors import InputError
from regard.training.recipe import load_recipe, recipe_from, recipe_names


@pytest.mark.parametrize("name", recipe_names())
def test_recipes_survive_being_written_and_read(name):
    recipe = load_recipe(name)
    assert recipe_from(recipe.as_dict()) == recipe


def test_changes_reach_every_stage_and_the_model():
    recipe = load_recipe("classic", ["model.positions=rotary", "stages.clip=0.5", "batch.rows=8", "precision=float32"])
    assert recipe.model_config(vocab_size=9).positions == "rotary"
    assert [stage.rates.clip for stage in recipe.stages] == [0.5, 0.5]
    assert recipe.batch.rows == 8
    assert recipe.precision == "float32"


def test_stages_divide_the_steps():
    assert load_recipe("classic").stage_steps(1000) == (950, 50)
    assert sum(load_recipe("classic").stage_steps(7)) == 7


def test_rates_rise_and_fall():
    rates = load_recipe("fast").stages[0].rates
    factors = [rates.factor(step, 100) for step in range(100)]
    assert max(factors) == 1
    assert 0 < factors[-1] < 0.05
    assert [rates.factor(0, 1), min(rates.factor(step, 2) for step in range(2)) > 0] == [1, True]
    assert factors[0] < 1 or rates.warmup <= 0.01
    assert factors[70] > factors[90]


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("slow", (), "classic, fast"),
        ("fast", ("model.widht=3",), "widht"),
        ("fast", ("model.width",), "changes nothing"),
        ("fast", ("model.width=wide",), "should be a whole number"),
        ("fast", ("model.num_kv_heads=two",), "should be a whole number"),
        ("fast", ("model=3",), "model is 3, but it should be a table"),
        ("fast", ("tokens=5",), "tokens is 5, but it should be a table"),
        ("fast", ("tokens=5", "tokens.size=300"), "tokens is 5"),
        ("fast", ("batch=[1]",), "batch is"),
        ("fast", ("stages=3",), "list of tables"),
        ("fast", ("stages=[3]",), "each of stages is 3"),
        ("fast", ("stages=[3]", "stages.clip=1"), "stages is 3"),
        ("fast", ("stages=[]",), "no stage"),
        ("fast", ("name=3",), "should be text"),
        ("fast", ("model.positions=polar",), "polar"),
        ("fast", ("tokens.kind=words",), "pieces"),
        ("fast", ("batch.rows=0",), "too small"),
        ("fast", ("stages.share=0",), "no stage"),
        ("fast", ("precision=int4",), "bfloat16"),
        ("nowhere.toml", (), "can't be read"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_recipes_are_refused_in_words(name, changes, words):
    with pytest.raises(InputError, match=words):
        load_recipe(name, changes)


def test_a_recipe_may_be_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('about = "mine"\n[model]\nwidth = 64\n')
    recipe = load_recipe(str(path))
    assert recipe.name == "mine"
    assert recipe.model_config(vocab_size=9).width == 64
    path.write_text("about = ")
    with pytest.raises(InputError, match="not TOML"):
        load_recipe(str(path))


def test_a_recipe_may_change_another(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('base = "fast"\n[batch]\nrows = 3\n')
    mine, fast = load_recipe(str(path)), load_recipe("fast")
    assert (mine.name, mine.batch.rows, mine.batch.candidates) == ("mine", 3, 0)
    assert (mine.model, mine.stages, mine.tokens) == (fast.model, fast.stages, fast.tokens)
    path.write_text('base = "slow"')
    with pytest.raises(InputError, match="has the base 'slow'"):
        load_recipe(str(path))


def test_each_stage_shows_what_its_own_length_wants():
    recipe = load_recipe("classic", ["stages.chunk_share=0.6", "stages.all_chunks_at=2000"])
    assert [stage.objective.chunk_share for stage in recipe.over(2000).stages] == [0.95, 0.6]
