"""The page's own files: modules bundled into one script, formulas typeset, slots filled."""

import pytest

from regard.explorer.assets import UnknownSyntaxError, bundle, fill, page_file, with_formulas

PARTS = ("copy", "swing", "shuffle", "positions", "verdicts", "sheet")


def bundled(**files: str) -> str:
    return bundle("main.js", {f"{name}.js": text for name, text in files.items()}.__getitem__)


def test_modules_come_after_what_they_import_and_only_once():
    script = bundled(
        main='import { a } from "./first.js";\nimport { b as c } from "./second.js";\nlog(a, c);\n',
        first='import { b } from "./second.js";\nexport const a = b + 1;\n',
        second="export const b = 1;\n",
    )
    assert script.count("const b = 1;") == 1
    assert script.index("const b = 1;") < script.index("const a = b + 1;") < script.index("log(a, c);")
    assert "const { b: c } = module_0;" in script


def test_a_whole_module_can_be_imported_and_paths_are_relative_to_the_importer():
    files = {
        "main.js": 'import * as all from "./parts/one.js";\nlog(all.x);\n',
        "parts/one.js": 'import { y } from "../two.js";\nexport function x() { return y; }\n',
        "two.js": "export class y {}\n",
    }
    script = bundle("main.js", files.__getitem__)
    assert "const all = module_1;" in script
    assert "return { x };" in script


@pytest.mark.parametrize(
    "line",
    [
        'import x from "./x.js";',
        "export default 1;",
        "export let x = 1;",
        'const x = import("./x.js");',
        'import { x } from "https://elsewhere/x.js";',
    ],
)
def test_unknown_syntax_is_refused_with_the_file(line):
    with pytest.raises(UnknownSyntaxError, match=r"main\.js"):
        bundled(main=f"{line}\n")


def test_a_cycle_is_refused():
    with pytest.raises(UnknownSyntaxError, match=r"main\.js → a\.js → main\.js"):
        bundled(main='import { a } from "./a.js";\n', a='import { b } from "./main.js";\nexport const a = b;\n')


def test_the_page_is_bundled_without_any_imports_left():
    script = bundle("main.js", page_file)
    assert "window.regard = {" in script
    assert not [line for line in script.splitlines() if line.startswith(("import ", "export "))]


def test_formulas_are_typeset_where_they_stand_and_signs_of_html_are_read():
    assert "<mi>γ</mi><mo>&gt;</mo><mn>0</mn>" in with_formulas(r"<p>\(\gamma&gt;0\)</p>")
    assert with_formulas(r"\[a=b\]").startswith('<div class="equation">')


def test_replacements_are_not_searched_again():
    assert fill("{{a}}{{b}}", {"a": "{{b}}", "b": "2"}) == "{{b}}2"


@pytest.mark.parametrize("name", PARTS)
def test_every_formula_of_the_page_can_be_set(name):
    assert 'class="latex"' not in with_formulas(page_file(f"parts/{name}.html"))
