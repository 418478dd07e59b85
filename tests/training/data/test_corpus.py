import pytest

from regard.core.errors import InputError
from regard.training.data.corpus import CorpusDocument, FactQuestion, read_documents, read_questions, split_name


def written(folder, content: bytes):
    path = folder / "file.txt"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("Ada Byron. Born in London .", "Ada Byron"),
        ("A. G. E. Blake. Anthony Blake was born .", "A. G. E. Blake"),
        ("Jane R. Goodall. Born in Yorkshire, Goodall studied .", "Jane R. Goodall"),
        ("Asa G. Yancey, Sr.. Asa was born in Atlanta .", "Asa G. Yancey, Sr."),
        ("St. John Smith. He was born .", "St. John Smith"),
        ("no name at all", ""),
    ],
)
def test_names_end_at_the_first_full_stop_that_ends_one(line, name):
    assert split_name(line).name == name


def test_marks_of_other_systems_are_not_part_of_the_text(tmp_path):
    path = written(tmp_path, b"\xef\xbb\xbfAda Byron. Born in London .\r\n\r\nLi Na. Born in Wuhan .\r")
    assert read_documents(path) == (
        CorpusDocument(name="Ada Byron", text="Born in London ."),
        CorpusDocument(name="Li Na", text="Born in Wuhan ."),
    )


def test_questions_are_split_at_their_tab(tmp_path):
    path = written(tmp_path, b"Where was Ada born?\tLondon\n")
    assert read_questions(path) == (FactQuestion(text="Where was Ada born?", answer="London"),)


def test_documents_and_answers_are_spelt_out_and_questions_stay_as_asked(tmp_path):
    people = written(tmp_path, "J%C3%B8rn Utzon. Born in\u00a0K%C3%B8benhavn .".encode())
    assert read_documents(people) == (CorpusDocument(name="Jørn Utzon", text="Born in København ."),)
    asked = written(tmp_path, b"Where was J%C3%B8rn born?\tK%C3%B8benhavn\n")
    assert read_questions(asked) == (FactQuestion(text="Where was J%C3%B8rn born?", answer="København"),)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no questions"),
        (b"good?\tyes\nbad\n", ":2 has no tab"),
        (b"a\tb\tc\n", "2 tabs"),
        (b"where?\t \n", "empty answer"),
        (b"\xff\xfe where?\n", ":1 is not UTF-8"),
    ],
)
def test_bad_questions_are_refused_with_their_line(content, words, tmp_path):
    with pytest.raises(InputError, match=words):
        read_questions(written(tmp_path, content))


def test_missing_and_empty_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="can't be read"):
        read_documents(tmp_path / "nowhere.txt")
    with pytest.raises(InputError, match="no documents"):
        read_documents(written(tmp_path, b"\n \n"))
