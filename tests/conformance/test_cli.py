import json
import re
from dataclasses import fields
from xml.etree import ElementTree

import jsonschema
import pytest

from regard.conformance.subject import Spec
from regard.render.json import schema

LEAKY = ("check", "checked_layers:leaky", "--spec", "causal,positions=none", "--laws", "CAUSAL,DET,PAD")
LAWFUL = ("check", "checked_layers:lawful", "--spec", "causal,positions=none", "--laws", "CAUSAL,DET")


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")


def test_help_shows_examples(run):
    code, out, _ = run("check", "--help")
    assert code == 0
    assert "Examples:" in out
    assert "--write-test" in out


def test_help_names_what_a_spec_may_say(run):
    out = run("check", "--help")[1]
    told = set(re.findall(r"\w+", out.partition("--spec SPEC")[2].partition("--infer ")[0]))
    assert {field.name for field in fields(Spec)} - {"device", "dtype"} <= told


def test_the_laws_are_listed(run):
    code, out, _ = run("check", "--list")
    assert code == 0
    assert "CAUSAL" in out
    assert "y_i does not depend on x_j for j > i" in out


def test_a_lawful_layer_ends_well(run):
    code, out, err = run(*LAWFUL)
    assert (code, err) == (0, "")
    assert "2 laws: 2 hold" in out
    assert "Black-box check" in out


def test_a_leaky_layer_is_laid_open_in_every_form(run, tmp_path):
    page, junit, test = tmp_path / "page.html", tmp_path / "junit.xml", tmp_path / "test_leak.py"
    listing = tmp_path / "out.json"
    code, out, _ = run(
        *LEAKY, "--html", str(page), "--junit", str(junit), "--write-test", str(test), "--json", str(listing)
    )
    assert code == 1
    assert "refuted[CAUSAL]: y_i does not depend on x_j for j > i" in out
    assert "= counterexample: batch 1, length 3" in out or "= counterexample: batch 1, length 2" in out
    assert "= reproduce: regard check checked_layers:leaky" in out
    assert "PAD: the layer takes no padding mask" in out
    document = json.loads(listing.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema()).validate(document)
    [row] = document["subjects"]
    assert (row["layer"], row["ok"], row["grade"]) == ("checked_layers:leaky", False, "black-box")
    assert row["counts"] == {"refuted": 1, "holds": 1, "skipped": 1}
    suite = ElementTree.parse(junit).getroot()[0]
    assert suite.attrib["failures"] == "1"
    assert "refuted" in page.read_text(encoding="utf-8")
    assert '"checked_layers:leaky",\n' in test.read_text(encoding="utf-8")


def test_an_expected_failure_is_no_failure(run):
    code, out, _ = run(*LEAKY, "--expect", "CAUSAL=our issue 12")
    assert code == 0
    assert "our issue 12" in out


def test_an_unexpected_pass_is_a_failure(run):
    code, out, _ = run(*LAWFUL, "--expect", "DET=flaky")
    assert code == 1
    assert "unexpected pass" in out


def test_strict_asks_for_every_law(run):
    assert run(*LAWFUL, "--strict")[0] == 0
    assert run(*LAWFUL[:-1], "CAUSAL,PAD", "--strict")[0] == 3


def test_several_layers_make_a_matrix_and_one_that_cannot_be_loaded_stops_nobody(run):
    code, out, _ = run(
        "check",
        "checked_layers:lawful",
        "checked_layers:leaky",
        "checked_layers:nothing",
        "--spec",
        "causal",
        "--laws",
        "CAUSAL,DET",
    )
    assert code == 1
    assert "3 layers, 2 with unexpected failures" in out
    assert "BUILD crashed" in out


def test_a_layer_that_dies_while_it_is_built_is_shown_as_declared(run):
    code, out, _ = run("check", "checked_layers:dies_while_built", "--spec", "causal,positions=none", "--laws", "DET")
    assert code == 1
    assert "not declared" not in out
    assert "1 law: 1 crashed" in out
    assert "= reproduce: regard check checked_layers:dies_while_built" in out
    assert "--laws" not in out


def test_no_failure_means_no_test_to_write(run, tmp_path):
    code, _, err = run(*LAWFUL, "--write-test", str(tmp_path / "test_none.py"))
    assert code == 0
    assert "no test to write" in err
    assert not (tmp_path / "test_none.py").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["check"], "Name a layer"),
        (["check", "checked_layers:lawful", "--zoo"], "cannot be combined"),
        (["check", "--layout", "cs224n-a4", ".", "--write-test", "x"], "cannot be combined"),
        (["check", "checked_layers:nothing"], "nothing"),
        (["check", "checked_layers:lawful", "--laws", "CAUSE"], "no law CAUSE. Did you mean 'CAUSAL'?"),
        (["check", "checked_layers:lawful", "--dtype", "flot16"], "'flot16' is not one of 'float32'"),
        (["check", "checked_layers:lawful", "--spec", "causality"], "causality"),
        (["check", "checked_layers:lawful", "--spec", "num_heads=none"], "num_heads is int"),
        (["check", "checked_layers:lawful", "--spec", "num_heads=5,width=32"], "5 heads in a width of 32"),
        (["check", "checked_layers:lawful", "--spec", "num_heads=4,num_kv_heads=3"], "4 heads over 3"),
        (["check", "checked_layers:lawful", "--expect", "DET"], "--expect DET"),
        (["check", "checked_layers:lawful", "--arg", "n=1", "--arg", "n=2"], "twice"),
        (["check", "checked_layers:lawful", "--json", "no/such/folder.json"], "folder"),
        (["check", "checked_layers:lawful", "--json", "x", "--html", "x"], "one file"),
        (["check", "checked_layers:lawful", "--time-limit", "0"], "limit"),
        (["check", "checked_layers:lawful", "--jobs", "0"], "jobs"),
        (["check", "checked_layers:lawful", "--seed", "-1"], "Seed"),
    ],
)
def test_bad_input_is_one_line(run, arguments, told):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert told in err


def test_probing_says_what_it_found(run):
    code, out, _ = run("check", "checked_layers:lawful", "--infer", "--laws", "CAUSAL")
    assert code == 0
    assert "found      causal = True" in out


LINKING = """
import os
def layer(x):
    if not os.path.lexists("out.json"):
        os.symlink("kept.txt", "out.json")
    return x
"""


def test_a_link_that_a_layer_puts_where_a_report_goes_is_not_followed(run, tmp_path, monkeypatch):
    (tmp_path / "linking.py").write_text(LINKING)
    (tmp_path / "kept.txt").write_text("kept")
    monkeypatch.chdir(tmp_path)
    code, _, err = run("check", "linking.py:layer", "--laws", "DET", "--json", "out.json")
    assert code == 2
    assert "was made a link" in err
    assert (tmp_path / "kept.txt").read_text() == "kept"


def test_a_layout_that_is_not_known_is_refused(run, tmp_path):
    code, out, err = run("check", "--layout", "cs999", str(tmp_path))
    assert (code, out) == (2, "")
    assert "cs999" in err


def test_a_config_comes_from_a_file(run, tmp_path):
    (tmp_path / "layer.py").write_text(
        "import numpy as np\n"
        "class Mean:\n"
        "    def __init__(self, cfg):\n"
        "        self.width = cfg['width']\n"
        "    def __call__(self, x):\n"
        "        assert x.shape[-1] == self.width\n"
        "        return np.cumsum(x, axis=1)\n",
        encoding="utf-8",
    )
    for name, text in (("tiny.json", '{"width": 16}'), ("tiny.toml", "width = 16")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        target = f"{tmp_path / 'layer.py'}:Mean"
        code, out, err = run("check", target, "--config", str(tmp_path / name), "--laws", "CAUSAL,DET")
        assert (code, err) == (0, "")
        assert "width 16" in out
    (tmp_path / "bad.json").write_text("[1]", encoding="utf-8")
    assert run("check", target, "--config", str(tmp_path / "bad.json"))[0] == 2
    assert run("check", target, "--config", str(tmp_path / "none.json"))[0] == 2
