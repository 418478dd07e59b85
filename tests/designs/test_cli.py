"""`regard design` as a user runs it."""

import json
import re

import jsonschema
import pytest

from regard.cli import main
from regard.render.json import schema

EXAMPLE = ["design", "--head", "beta*(mu_a+mu_b)", "--beta", "20", "--n", "10", "--norm-noise", "a=0.5"]
TWO = ["design", "--head", "beta*mu_a", "--head", "beta*mu_b", "--beta", "20", "--norm-noise", "a=0.5"]


def run_json(capsys, arguments):
    assert main([*arguments, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, schema())
    return found


def test_the_example_prints_weights_output_and_scale(capsys):
    assert main(EXAMPLE) == 0
    shown = capsys.readouterr().out
    for part in ("Head 1", "0.22201862792", "0.444037248518", "0.95–1.00", "least error", "ceiling", "certified"):
        assert part in shown


def test_json_has_the_documented_fields(capsys):
    found = run_json(capsys, EXAMPLE)
    assert found["command"] == "design"
    weights = found["heads"][0]["weights"]
    assert set(weights) == {"a", "b", "other"}
    for weight in weights.values():
        assert weight["mean_lower"] <= weight["mean"] <= weight["mean_upper"]
        assert weight["variance_lower"] <= weight["variance"] <= weight["variance_upper"]
    assert weights["a"]["variance"] == pytest.approx(0.22201862792, abs=1e-12)
    assert found["output"]["squared_error"] == pytest.approx(0.444037248518, abs=1e-11)
    assert found["output"]["variance_ratio"] == pytest.approx(1)


def test_two_heads_are_compared_with_one(capsys):
    output = run_json(capsys, TWO)["output"]
    assert output["variance_ratio"] == pytest.approx(10.84978, abs=1e-5)
    assert output["coefficient_variance"] == pytest.approx(0.22201862792 / 10.84978, rel=1e-6)


def test_equivalent_heads_give_identical_json(capsys):
    texts = ["beta*(mu_a+mu_b)", "20 mu_a + beta*mu_b", "(beta^2*mu_a + 400 mu_b)/20"]
    found = [run_json(capsys, ["design", "--head", text, "--beta", "2e1", "--norm-noise", "a=.5"]) for text in texts]
    for other in found[1:]:
        assert other["heads"][0]["weights"] == found[0]["heads"][0]["weights"]
        assert other["output"] == found[0]["output"]


def test_a_condition_and_normalized_keys(capsys):
    found = run_json(capsys, [*EXAMPLE, "--qk-norm", "--given", "gamma>0"])
    assert found["output"]["coefficient_variance"] == 0
    assert found["given"]["probability"] == pytest.approx(0.9213503964748575)


def test_what_is_required_decides_the_exit_code(capsys):
    assert main([*TWO, "--require", "0.5"]) == 0
    assert "proved" in capsys.readouterr().out
    assert main([*TWO, "--require", "0.99"]) == 1
    assert "refuted" in capsys.readouterr().out


def test_the_page_is_one_file(capsys, tmp_path):
    page = tmp_path / "two.html"
    assert main([*TWO, "--html", str(page), "--json", str(tmp_path / "two.json")]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") >= 3
    assert "<math" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org", "")
    jsonschema.validate(json.loads((tmp_path / "two.json").read_text()), schema())


def test_what_is_certified_needs_no_numpy(python):
    """numpy alone takes half as long to import as the whole command may take."""
    code = f"import sys; from regard.cli import main; main({EXAMPLE}); sys.exit('numpy' in sys.modules)"
    assert python("-c", code).returncode == 0


def test_each_number_of_a_sampled_design_has_its_interval_and_its_method(capsys):
    sampled = [*EXAMPLE, "--alpha", "0.01", "--draws", "1000"]
    scale = run_json(capsys, sampled)["scale"]
    for name in ("best", "farthest", "most_often"):
        row = scale[name]
        assert (row["method"], row["draws"], row["confidence"]) == ("monte_carlo", 1000, 0.999)
        assert row["value_lower"] <= row["value"] <= row["value_upper"]
    assert (scale["ceiling_method"], scale["ceiling_seed"]) == ("monte_carlo", 0)
    assert main(sampled) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert re.search(r"one head β\(μ_a\+μ_b\): [\d.]+ ± [\d.]+ times that", shown)
    assert re.search(r"25% below [\d.e-]+ ± [\d.e-]+ · 50% below [\d.]+ ± [\d.]+", shown)


def test_a_distance_that_even_zero_keeps_needs_no_scale(capsys):
    assert main([*EXAMPLE, "--epsilon", "2"]) == 0
    assert re.search(r"rms error 2 needs +any scale tried", capsys.readouterr().out)
    scale = run_json(capsys, [*EXAMPLE, "--epsilon", "0.7"])["scale"]
    assert (scale["needed"]["scale"], scale["is_always_enough"]) == (0, False)


def test_a_condition_may_be_as_rare_as_it_likes_where_it_is_certified(capsys):
    assert main([*EXAMPLE, "--given", "gamma>50"]) == 0
    assert "probability below 4.9e-324" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "No head"),
        (["--head", "foo*mu_a"], "'foo'"),
        (["--head", "beta*mu_a"], "--beta"),
        (["--head", "beta*(mu_a", "--beta", "2"], "cannot be read"),
        (["--head", "__import__('os').system('true')"], "not known"),
        (["--head", "mu_a", "--beta", "x"], "beta = x is not a finite number"),
        (["--head", "mu_a", "--beta", "nan"], "not a finite number"),
        (["--head", "mu_a", "--beta", "2", "--set", "beta=3"], "twice"),
        (["--head", "mu_a", "--norm-noise", "a=0.5", "--norm-noise", "a=0.7"], "twice"),
        (["--head", "mu_a", "--norm-noise", "a=-1"], "not a variance"),
        (["--head", "mu_a", "--norm-noise", "a"], "cannot be read"),
        (["--head", "mu_a", "--given", "gamma>0"], "ambiguous"),
        (["--head", "mu_a", "--norm-noise", "a=0.5", "--given", "gamma=1"], "probability zero"),
        (["--head", "mu_a", "--n", "2"], "Give a whole number n ≥ 3"),
        (["--head", "beta*mu_a", "--beta", "1e400"], "multiplies mu_a by a number beyond"),
        (["--head", ""], "empty"),
        (["--head", "(" * 300 + "mu_a" + ")" * 300], "nested more than"),
        (["--head", "mu_a+" * 2500 + "mu_b"], "Write a shorter one"),
        (["--head", "mu_a", "--alpha", "0.01", "--n", "1000000000"], "2.78e+04 hours. Use fewer keys"),
        (["--head", "mu_a", "--alpha", "0.01", "--n", "1000000"], "Use --draws 1799, or fewer keys"),
        (["--head", "mu_a", "--alpha", "0.01", "--n", "1000000000", "--qk-norm"], "hours. Use fewer keys"),
        (["--head", "mu_a", "--norm-noise", "a=0.5", "--alpha", "0.01", "--given", "gamma>50"], "γ_a ≥ 50"),
        (["--head", "mu_a", "--norm-noise", "a=0.5", "--given", "gamma_b>3"], "γ_b is always 1"),
        (["--head", "mu_a", "--target", "mu_a"], "mu_a"),
        (["--head", "mu_a", "--epsilon", "-1"], "ε"),
        (["--head", "mu_a", "--draws", "0"], "draws"),
        (["--head", "mu_a", "--html", "-"], "--html cannot write to standard output"),
        (["--head", "mu_a", "--norm-noise", "a=1", "--given", "gamma>0", "--given", "gamma<-1"], "2 times"),
        (["--head", "mu_a", "--html", "/nonexistent/x.html"], "Cannot write"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(capsys, arguments, complaint):
    assert main(["design", *arguments]) == 2
    refusal = capsys.readouterr().err
    assert complaint in refusal
    assert refusal.count("\n") == 1
