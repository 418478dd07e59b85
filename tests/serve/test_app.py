"""The rules of the web app: who may ask, how much, for how long, and what hostile documents get."""

import asyncio
import json
import threading
from itertools import pairwise

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from hostile_text import FORMULAS, PROSE
from page_checks import check_self_contained
from regard.core.worker_pool import PoolLimits
from regard.derivations.reading.files import MAX_BYTES
from regard.serve import app as web
from regard.serve.app import WebApp, build_app
from regard.serve.guard import Guard

PORT, TOKEN = 8123, "a-token"
HOST = f"127.0.0.1:{PORT}"
OWN = {"origin": f"http://{HOST}"}
PROGRAM = {"authorization": f"Bearer {TOKEN}"}


def connected(**limits) -> TestClient:
    app = build_app(token=TOKEN, port=PORT, limits=PoolLimits(jobs=1, **limits))
    return TestClient(app, base_url=f"http://{HOST}")


@pytest.fixture(scope="module")
def client():
    with connected(seconds=20.0) as client:
        yield client


@pytest.fixture
def stranger(client):
    """A client of the same app that has no cookie."""
    return TestClient(client.app, base_url=f"http://{HOST}")


@pytest.fixture
def judge(client):
    def judge(text: str | bytes, **query):
        return client.post("/judge", params=query, content=text, headers=PROGRAM)

    return judge


# -- who may ask -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", ["/", "/app.js", "/app.css", "/claims", "/report/x", "/nowhere"])
def test_nothing_is_shown_without_the_token(stranger, path):
    assert stranger.get(path).status_code == 403
    assert stranger.get(path, params={"token": "a-guess"}).status_code == 403
    assert stranger.get(path, headers={"cookie": f"regard-{PORT}=a-guess"}).status_code == 403
    assert stranger.get(path, headers={"cookie": f"regard-{PORT + 1}={TOKEN}"}).status_code == 403
    assert stranger.get(path, headers={"authorization": "Bearer ünlikely".encode()}).status_code == 403


def test_the_address_with_the_token_gives_a_cookie_for_all_that_follow(stranger):
    assert stranger.get("/app.js", params={"token": TOKEN}).status_code == 403, "only the page itself takes it"
    first = stranger.get("/", params={"token": TOKEN})
    assert first.status_code == 200
    assert "HttpOnly" in first.headers["set-cookie"]
    assert "SameSite=Strict" in first.headers["set-cookie"]
    assert stranger.get("/").status_code == stranger.get("/app.js").status_code == 200
    assert stranger.post("/judge", content="$x = x$", headers=OWN).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", ""])
def test_another_name_for_this_machine_is_refused(stranger, host):
    assert stranger.get("/", params={"token": TOKEN}, headers={"host": host}).status_code == 421
    assert stranger.get("/", params={"token": TOKEN}, headers={"host": f"localhost:{PORT}"}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", f"http://localhost:{PORT}", "null", ""])
def test_another_page_is_refused_even_with_the_cookie(stranger, origin):
    stranger.get("/", params={"token": TOKEN})
    assert stranger.post("/judge", content="$x = x$", headers={"origin": origin}).status_code == 403
    assert stranger.get("/claims", headers={"origin": origin}).status_code == 403


def test_a_post_must_say_where_it_comes_from_unless_a_program_sends_it(stranger):
    stranger.get("/", params={"token": TOKEN})
    assert stranger.post("/judge", content="$x = x$").status_code == 403
    assert stranger.post("/judge", content="$x = x$", headers=PROGRAM).status_code == 200


@pytest.mark.parametrize("path", ["/", "/app.js", "/nowhere"])
def test_every_answer_is_private_and_strict(client, path):
    headers = client.get(path, headers=PROGRAM).headers
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["referrer-policy"] == "no-referrer"


def test_the_page_allows_only_what_is_served_from_here(client):
    page = client.get("/", headers=PROGRAM)
    policy = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert "<style" not in page.text
    assert "http:" not in page.text
    assert "https:" not in page.text


# -- what it answers ---------------------------------------------------------------------------------------------------
def test_a_document_is_judged_and_its_page_is_kept(client, judge):
    answer = judge("1.(b) An average of two\n\nTake $q = k_a + k_b$.", problem="cs224n-a4").json()
    [step] = answer["steps"]
    assert (step["standing"], step["where"]["line"]) == ("refuted", 3)
    assert answer["summary"] == "1 refuted"
    report = client.get(f"/report/{answer['key']}", headers=PROGRAM)
    assert report.text == answer["page"]
    assert report.headers["content-security-policy"] == "frame-ancestors 'self'"
    check_self_contained(report.text)
    assert client.get("/report/unknown", headers=PROGRAM).status_code == 404


@pytest.mark.parametrize("file", ["a.md", "a.tex", "a.txt", "A.MD"])
def test_the_name_says_how_to_read_it(judge, file):
    assert judge("We have $1 + 1 = 2$.", file=file).json()["summary"] == "1 holds"


def test_a_notebook_is_judged(judge):
    cells = [{"cell_type": "markdown", "source": "We have $1 + 1 = 3$."}]
    answer = judge(json.dumps({"cells": cells, "nbformat": 4}), file="a.ipynb").json()
    assert answer["summary"] == "1 refuted"


def test_a_page_that_takes_long_is_made_once(client):
    first = client.get("/explorer", headers=PROGRAM)
    assert "Explore attention" in first.text
    assert client.get("/explorer", headers=PROGRAM).text == first.text


# -- what it refuses ---------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("file", ["a.pdf", "a", "", "../../etc/passwd", "a.md/", "\0"])
def test_a_kind_that_is_not_read_is_refused(judge, file):
    answer = judge("$x = x$", file=file)
    assert answer.status_code == (200 if file == "a.md/" else 400)
    assert (answer.json()["page"] is None) == (answer.status_code == 400)


@pytest.mark.parametrize("problem", ["/etc/passwd", "../x.toml", "nothing", "\0"])
def test_only_shipped_problems_can_be_chosen(judge, problem):
    answer = judge("$x = x$", problem=problem)
    assert answer.status_code == 400
    assert "cs224n-a4" in answer.json()["reason"]


@pytest.mark.parametrize("content", [b"", b" \n", b"$x = 1$ \xff\xfe", b"a\0b", b"%PDF-1.7", b"{", b'{"cells": 3}'])
@pytest.mark.parametrize("file", ["a.md", "a.tex", "a.ipynb"])
def test_what_cannot_be_read_gets_a_reason(judge, content, file):
    answer = judge(content, file=file)
    assert answer.status_code == 200
    if answer.json()["page"] is None:
        assert file in answer.json()["reason"]
    else:
        assert content.startswith(b"{"), "braces alone are text"


def test_a_document_that_is_too_large_is_refused(client):
    answer = client.post("/judge", content=b"x" * (MAX_BYTES + 1), headers=PROGRAM)
    assert answer.status_code == 413
    assert "5 MB" in answer.json()["reason"]


async def status_for(receive) -> int:
    """The status that a POST gets whose body and end come from `receive`."""
    said = []

    async def send(message):
        said.append(message)

    headers = [(b"host", HOST.encode()), (b"authorization", f"Bearer {TOKEN}".encode())]
    scope = {"type": "http", "method": "POST", "path": "/judge", "query_string": b"", "headers": headers}
    app = WebApp(PoolLimits(jobs=1))
    async with app.lifespan(Starlette()):
        await Guard(app.application(), token=TOKEN, port=PORT)(scope, receive, send)
    return said[0]["status"]


def test_a_document_that_arrives_too_slowly_is_refused(monkeypatch):
    monkeypatch.setattr(web, "_SECONDS_TO_SEND", 0.05)

    async def receive():
        await asyncio.sleep(10)

    assert asyncio.run(status_for(receive)) == 408


def test_a_client_that_goes_away_is_not_waited_for():
    parts = [{"type": "http.request", "body": b"$x = x$"}, {"type": "http.disconnect"}]

    async def receive():
        return parts.pop(0)

    assert asyncio.run(status_for(receive)) == 499


LETTERS = "abcdefghijklmnopq"
# Each macro stands for three of the next.
BOMB = [rf"\newcommand{{\{one}}}{{\{other} \{other} = \{other}}}" for one, other in pairwise(LETTERS)]
HOSTILE = {
    "prose": "\n\n".join(PROSE).replace("\0", "").replace("\ud800", ""),
    "formulas": "\n\n".join(f"$ {formula.replace(chr(0), '')} $" for formula in FORMULAS),
    "macros that grow": "\n".join([*BOMB, r"$\a$"]),
    "deep braces": "$" + "{" * 20_000 + "x" + "}" * 20_000 + " = 1$",
    "many dollars": "$" * 40_000,
    "one long line": "$x = " + "x + " * 20_000 + "x$",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("file", ["a.md", "a.tex"])
def test_hostile_documents_are_answered_and_the_next_one_too(judge, name, file):
    answer = judge(HOSTILE[name], file=file)
    assert answer.status_code == 200
    assert answer.json()["reason"] or answer.json()["page"]
    if answer.json()["page"]:
        check_self_contained(answer.json()["page"])
    assert judge(f"We have $1 + 1 = 2$, after {name}.").json()["summary"] == "1 holds"


def test_work_that_takes_too_long_is_ended(judge):
    with connected(seconds=0.02) as client:
        answer = client.post("/judge", content="$x + y = y + x$" * 50, headers=PROGRAM)
    assert answer.json()["reason"] == "answers.md: it took longer than the 0.02 seconds allowed."


def test_who_waits_too_long_is_told_to_come_back(monkeypatch):
    monkeypatch.setattr(web, "_SECONDS_IN_QUEUE", -20.0)
    with connected(seconds=20.0) as client:
        answer = client.post("/judge", content="$x = x$", headers=PROGRAM)
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"


def test_requests_at_the_same_time_are_all_answered(client):
    answers = []

    def ask(number: int) -> None:
        response = client.post("/judge", content=f"We have ${number} = {number}$.", headers=PROGRAM)
        answers.append((number, response.json()["summary"]))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [(number, "1 holds") for number in range(20)]
