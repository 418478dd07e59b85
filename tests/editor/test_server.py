"""The language server as an editor meets it: a real client over standard input and output."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest
from lsprotocol import types

from language_client import SECONDS, Editor, running_editor
from regard.editor.feedback import SHOW_CLAIM

HEAD = "1.(a) Copying in attention\n\nA large score.\n\n1.(b) An average of two\n\n"
WRONG = HEAD + "𝔻 Take $q = k_a + k_b$.\n"
RIGHT = HEAD + "𝔻 Take $q = \\beta(k_a + k_b)$.\n"
ALIGNED = r"""\section{1.(a) Copying in attention} A large score.
\section{1.(b) An average of two}
Take $q = \beta(k_a + k_b)$. Then
\begin{align}
k_a^\top q &= \beta \\
k_b^\top q &= 3\beta
\end{align}
"""


def tried(folder: Path, steps) -> None:
    """Runs some steps in an editor."""

    async def run() -> None:
        async with running_editor(folder) as editor:
            await asyncio.wait_for(steps(editor), 2 * SECONDS)

    asyncio.run(run())


def applied(text: str, edit: types.TextEdit) -> str:
    """The text with an edit whose place is counted in UTF-16."""
    lines = text.split("\n")
    units = lines[edit.range.start.line].encode("utf-16-le")
    assert edit.range.start == edit.range.end
    at = 2 * edit.range.start.character
    lines[edit.range.start.line] = (units[:at] + edit.new_text.encode("utf-16-le") + units[at:]).decode("utf-16-le")
    return "\n".join(lines)


def children_of(pid: int) -> set[int]:
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            found.add(int(status.parent.name))
    return found


def are_gone(pids: set[int]) -> bool:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if not any(Path(f"/proc/{pid}/stat").exists() for pid in pids):
            return True
        time.sleep(0.05)
    return False


def test_a_refuted_step_is_an_error_with_its_counterexample_on_hover_and_ends_when_it_is_corrected(tmp_path):
    uri = (tmp_path / "answers.md").as_uri()

    async def steps(editor: Editor) -> None:
        editor.open(uri, WRONG)
        [found] = await editor.diagnostics(uri)
        assert found.severity == types.DiagnosticSeverity.Error
        assert (found.source, found.code) == ("regard", "refuted")
        assert found.message.startswith("Missing a scale factor")
        # The 𝔻 before it takes two units of UTF-16.
        assert (found.range.start.line, found.range.start.character, found.range.end.character) == (6, 9, 22)
        shown = await editor.hover(uri, 6, 12)
        assert shown is not None
        assert "**refuted** · 1b/1 · design" in shown
        assert "Counterexample: at n = 10: each of the two weights is 0\\.2023" in shown
        assert await editor.hover(uri, 6, 2) is None
        editor.change(uri, 2, RIGHT)
        assert await editor.diagnostics(uri, 2) == []
        assert "**holds**" in (await editor.hover(uri, 6, 12) or "")

    tried(tmp_path, steps)


def test_actions_show_the_claim_and_ignore_the_step_with_a_comment_that_works(tmp_path):
    uri = "untitled:Untitled-1"

    async def steps(editor: Editor) -> None:
        editor.open(uri, WRONG)
        [found] = await editor.diagnostics(uri)
        claim, *_, ignore = await editor.actions(uri, found.range)
        assert isinstance(claim, types.Command)
        params = types.ExecuteCommandParams(command=claim.command, arguments=claim.arguments)
        await editor.workspace_execute_command_async(params)
        await editor.until(lambda: editor.messages)
        assert editor.messages[0].startswith("average-of-two: ")
        assert "regard claims --explain average-of-two" in editor.messages[0]
        assert isinstance(ignore, types.CodeAction)
        assert ignore.title == "Ignore “q = k_a + k_b” with a comment"
        [edit] = ignore.edit.changes[uri]
        editor.change(uri, 2, applied(WRONG, edit))
        assert await editor.diagnostics(uri, 2) == []
        assert "Ignored by a comment" in (await editor.hover(uri, 6, 12) or "")

    tried(tmp_path, steps)


@pytest.mark.parametrize(
    ("claim", "said"), [("average-of-tow", "Did you mean 'average-of-two'?"), ({"a": 1}, "no claim")]
)
def test_a_claim_that_does_not_exist_is_a_message_and_ends_nothing(tmp_path, claim, said):
    uri = (tmp_path / "answers.md").as_uri()

    async def steps(editor: Editor) -> None:
        params = types.ExecuteCommandParams(command=SHOW_CLAIM, arguments=[claim])
        await editor.workspace_execute_command_async(params)
        editor.open(uri, WRONG)
        [found] = await editor.diagnostics(uri)
        assert found.code == "refuted"
        assert len(editor.messages) == 1
        assert said in editor.messages[0]

    tried(tmp_path, steps)


def test_a_row_of_a_latex_display_is_ignored_alone(tmp_path):
    uri = (tmp_path / "notes.tex").as_uri()
    text = ALIGNED.replace("k_a^\\top q &= \\beta", "k_a^\\top q &= 2\\beta")

    async def steps(editor: Editor) -> None:
        editor.open(uri, text, "latex")
        found = await editor.diagnostics(uri)
        assert [each.range.start.line for each in found] == [4, 5]
        [ignore] = [each for each in await editor.actions(uri, found[1].range) if isinstance(each, types.CodeAction)]
        [edit] = ignore.edit.changes[uri]
        editor.change(uri, 2, applied(text, edit))
        assert [each.range.start.line for each in await editor.diagnostics(uri, 2)] == [4]

    tried(tmp_path, steps)


def test_quick_edits_end_in_the_diagnostics_of_the_last_one(tmp_path):
    uri = (tmp_path / "answers.md").as_uri()

    async def steps(editor: Editor) -> None:
        editor.open(uri, RIGHT)
        for version in range(2, 40):
            editor.change(uri, version, RIGHT + "So $1 + 1 = 3$.\n" * (version % 3))
        found = await editor.diagnostics(uri, 39)
        assert found == []
        editor.change(uri, 40, RIGHT + "So $1 + 1 = 3$.\n" * 2)
        assert len(await editor.diagnostics(uri, 40)) == 2

    tried(tmp_path, steps)


def test_text_that_can_not_be_judged_says_so_or_nothing_and_the_server_lives_on(tmp_path):
    uri = (tmp_path / "answers.md").as_uri()

    async def steps(editor: Editor) -> None:
        editor.open(uri, "")
        assert await editor.diagnostics(uri) == []
        editor.change(uri, 2, "$1 = 1$ " * 700_000)
        [found] = await editor.diagnostics(uri, 2)
        assert "the limit is 5000000" in found.message
        editor.change(uri, 3, "x\n" * 60_000)
        [found] = await editor.diagnostics(uri, 3)
        assert "lines; the limit is 50000" in found.message
        (tmp_path / "pyproject.toml").write_text("[tool.regard.verify]\nsede = 3\n", encoding="utf-8")
        editor.change(uri, 4, "So $1 + 1 = 3$.")
        [found] = await editor.diagnostics(uri, 4)
        assert "Did you mean 'seed'?" in found.message
        (tmp_path / "pyproject.toml").unlink()
        # Half a surrogate pair, a form feed and a line separator: neither of the last two ends a line.
        editor.change(uri, 5, "\ud83d a\x0cb\u2028c $1 + 1 = 3$")
        [found] = await editor.diagnostics(uri, 5)
        assert (found.range.start.line, found.range.start.character) == (0, 9)

    tried(tmp_path, steps)


def test_other_documents_are_left_alone_and_closing_clears_the_diagnostics(tmp_path):
    uri, code = (tmp_path / "answers.md").as_uri(), (tmp_path / "code.py").as_uri()

    async def steps(editor: Editor) -> None:
        editor.open(code, WRONG, "python")
        editor.open(uri, WRONG)
        assert len(await editor.diagnostics(uri)) == 1
        assert code not in editor.published
        assert await editor.hover(code, 6, 12) is None
        closed = types.DidCloseTextDocumentParams(text_document=types.TextDocumentIdentifier(uri=uri))
        editor.text_document_did_close(closed)
        await editor.until(lambda: editor.published[uri].diagnostics == [] or not editor.published[uri].diagnostics)

    tried(tmp_path, steps)


def test_a_problem_and_declarations_beside_the_document_count(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.regard.verify]\nproblem = 'cs224n-a4'\n", encoding="utf-8")
    uri = (tmp_path / "answers.md").as_uri()

    async def steps(editor: Editor) -> None:
        editor.open(uri, "1.(b) An average of two\n\nTake $q = k_a + k_b$. <!-- regard: ignore -->\n\nIt is $q = k_a$.")
        found = await editor.diagnostics(uri)
        assert [each.range.start.line for each in found] == [4]  # in an editor nothing is graded

    tried(tmp_path, steps)


# -- processes -------------------------------------------------------------------------------------------
def test_a_worker_that_dies_is_replaced(tmp_path):
    uri = (tmp_path / "answers.md").as_uri()

    async def steps(editor: Editor) -> None:
        editor.open(uri, WRONG)
        assert len(await editor.diagnostics(uri)) == 1
        for pid in children_of(editor.pid):
            os.kill(pid, signal.SIGKILL)
        editor.change(uri, 2, RIGHT)
        found = await editor.diagnostics(uri, 2)
        if found:  # the request went to the worker before its death was noticed
            assert "Not judged" in found[0].message
            editor.change(uri, 3, RIGHT)
            assert await editor.diagnostics(uri, 3) == []

    tried(tmp_path, steps)


@pytest.mark.parametrize("ending", ["shutdown", "killed", "closed"])
def test_no_process_is_left_behind(tmp_path, ending):
    uri = (tmp_path / "answers.md").as_uri()
    started: set[int] = set()

    async def steps(editor: Editor) -> None:
        editor.open(uri, WRONG)
        await editor.diagnostics(uri)
        started.update(children_of(editor.pid), {editor.pid})
        assert len(started) > 1
        if ending == "shutdown":
            assert await editor.leave() == 0
        elif ending == "killed":
            os.kill(editor.pid, signal.SIGKILL)
            await editor._server.wait()
        else:
            editor._server.stdin.close()
            await asyncio.wait_for(editor._server.wait(), SECONDS)

    tried(tmp_path, steps)
    assert are_gone(started)
