import importlib
import pkgutil

import pytest

import regard

PUBLIC_NAMES = [
    "CachedDecoder",
    "CheckReport",
    "Claim",
    "ClaimVerdict",
    "Demand",
    "DesignReport",
    "DocumentReport",
    "DomainError",
    "Estimate",
    "Evidence",
    "ExplorerPage",
    "InputError",
    "LatentKernel",
    "LawVerdict",
    "LawsBroken",
    "MergeKernel",
    "NearMiss",
    "NotCertifiable",
    "PagedKernel",
    "ParallelKernel",
    "Parameter",
    "Place",
    "QuantizedKernel",
    "QuestionRow",
    "Recurrence",
    "RegardError",
    "Sampling",
    "Scenario",
    "Spec",
    "StepVerdict",
    "Subject",
    "TreeKernel",
    "Trial",
    "VarlenKernel",
    "Verdict",
    "__version__",
    "all_claims",
    "check",
    "decide_claims",
    "explore",
    "hf",
    "parametrize_with_laws",
    "verify",
]
HEAVY = ("torch", "jax", "transformers", "sympy", "numpy", "flint", "rich", "click")
PACKAGES = [info.name for info in pkgutil.walk_packages(regard.__path__, "regard.") if info.ispkg]


def test_the_public_names_are_these():
    assert sorted(regard.__all__) == PUBLIC_NAMES


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_every_public_name_can_be_had(name):
    assert getattr(regard, name) is not None
    assert name in dir(regard)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="attentive"):
        regard.attentive  # noqa: B018


@pytest.mark.parametrize(("home", "names"), regard._HOMES.items())
def test_every_public_name_is_the_one_of_its_module(home, names):
    module = importlib.import_module(home)
    assert all(getattr(regard, name) is getattr(module, name) for name in names)


def test_every_public_name_has_a_home():
    housed = [name for names in regard._HOMES.values() for name in names]
    assert sorted([*housed, "__version__"]) == PUBLIC_NAMES


@pytest.mark.parametrize("name", PACKAGES)
def test_every_package_has_the_names_that_it_offers(name):
    module = importlib.import_module(name)
    assert all(hasattr(module, offered) for offered in getattr(module, "__all__", ()))


def test_importing_regard_imports_nothing_heavy(python):
    loaded = python("-c", "import sys, regard; print(*sys.modules)").stdout.split()
    assert "regard" in loaded
    assert not set(HEAVY) & set(loaded)


def test_help_imports_nothing_heavy_but_click(python):
    code = "import sys; from regard.cli import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    loaded = python("-c", code).stderr.split()
    assert set(HEAVY) & set(loaded) == {"click"}


def test_the_claims_need_neither_torch_nor_sympy(python):
    code = "import sys; from regard.cli import main; main(['claims', 'copy']); print(*sys.modules, file=sys.stderr)"
    loaded = python("-c", code).stderr.split()
    assert "numpy" in loaded
    assert not {"torch", "jax", "transformers", "sympy"} & set(loaded)
