import pytest

from regard.explorer.joining import UnknownSyntaxError, join_modules
from regard.explorer.templates import page_file


def joined(**files: str) -> str:
    return join_modules("main.js", {f"{name}.js": text for name, text in files.items()}.__getitem__)


def test_modules_come_after_what_they_import_and_only_once():
    script = joined(
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
    script = join_modules("main.js", files.__getitem__)
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
def test_what_cannot_be_joined_is_refused_by_name(line):
    with pytest.raises(UnknownSyntaxError, match=r"main\.js"):
        joined(main=f"{line}\n")


def test_a_circle_is_refused():
    with pytest.raises(UnknownSyntaxError, match=r"main\.js → a\.js → main\.js"):
        joined(main='import { a } from "./a.js";\n', a='import { b } from "./main.js";\nexport const a = b;\n')


def test_the_page_joins_without_a_trace_of_modules():
    script = join_modules("main.js", page_file)
    assert "window.regard = {" in script
    assert not [line for line in script.splitlines() if line.startswith(("import ", "export "))]
