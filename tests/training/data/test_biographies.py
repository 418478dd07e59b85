import pytest

from regard.core.errors import InputError
from regard.training.data.biographies import Biographies, make_biographies


def test_every_answer_stands_in_the_document_of_its_person():
    world = make_biographies(Biographies(people=40), seed=1)
    texts = {document.name: document.text for document in world.documents}
    assert len(texts) == 40
    for question in (*world.questions, *world.held_out):
        name = next(name for name in texts if name in question.text)
        assert question.answer in texts[name]


def test_nobody_is_both_asked_about_and_kept_back():
    world = make_biographies(Biographies(people=40, asked_share=0.5), seed=0)
    asked, kept = ({q.text for q in some} for some in (world.questions, world.held_out))
    assert len(asked) == len(kept) == 80
    assert not asked & kept


def test_one_seed_makes_one_world():
    assert make_biographies(Biographies(people=10), seed=3) == make_biographies(Biographies(people=10), seed=3)
    assert make_biographies(Biographies(people=10), seed=3) != make_biographies(Biographies(people=10), seed=4)


def test_wordings_and_order_are_as_many_as_asked_for():
    plain = make_biographies(Biographies(people=30, wordings=1, is_shuffled=False), seed=0)
    assert all(document.text.startswith(f"{document.name} was born in") for document in plain.documents)
    shuffled = make_biographies(Biographies(people=30), seed=0)
    assert not all(document.text.startswith(f"{document.name} was born in") for document in shuffled.documents)


@pytest.mark.parametrize("settings", [{"people": 1}, {"wordings": 99}, {"asked_share": 1.0}])
def test_impossible_worlds_are_refused(settings):
    with pytest.raises(InputError):
        Biographies(**settings)
