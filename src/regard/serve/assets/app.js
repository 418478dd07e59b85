(() => {
  const PAUSE = 150;
  const MOST_LINES = 5000;
  const CELL = /^<!-- cell (\d+) -->\n?/gm;
  const byId = (id) => document.getElementById(id);
  const [source, lines, status, attention, report] = ["source", "lines", "status", "attention", "report"].map(byId);
  const [LIMIT, LINE_LIMIT] = [source.dataset.limit, source.dataset.lineLimit].map(Number);
  const [problem, kind, file] = ["problem", "kind", "file"].map(byId);
  // The notebook that was opened: its Markdown cells are in the editor, the rest is sent along.
  let notebook = null;
  let name = "answers";
  let current = null;
  let timer = 0;
  let shown = "";

  // -- notebooks ------------------------------------------------------------------------------------------------------
  const joined = (source) => (Array.isArray(source) ? source.join("") : source ?? "");
  function cellsAsText({ cells }) {
    const isText = ({ cell_type: type }) => type === "markdown";
    const texts = cells.map((cell, k) => (isText(cell) ? `<!-- cell ${k + 1} -->\n${joined(cell.source)}` : null));
    return texts.filter((text) => text !== null).join("\n\n");
  }
  // Where each cell begins in the editor, as a line counted from zero, and its text.
  function cellsInEditor() {
    const found = [...source.value.matchAll(CELL)];
    return new Map(found.map((mark, k) => {
      const start = mark.index + mark[0].length;
      const text = source.value.slice(start, found[k + 1]?.index);
      return [Number(mark[1]), { line: source.value.slice(0, start).split("\n").length - 1, text }];
    }));
  }
  function notebookAsText() {
    const texts = cellsInEditor();
    const cells = notebook.cells.map((cell, k) => {
      const text = texts.get(k + 1)?.text ?? "";
      return cell.cell_type === "markdown" ? { cell_type: "markdown", metadata: {}, source: text } : { cell_type: cell.cell_type, metadata: {}, source: "" };
    });
    return JSON.stringify({ ...notebook, cells, metadata: {} });
  }

  // -- the lines behind the text --------------------------------------------------------------------------------------
  let marks = [];
  function draw() {
    const texts = source.value.split("\n");
    if (texts.length > MOST_LINES) return lines.replaceChildren();
    while (lines.childElementCount > texts.length) lines.lastElementChild.remove();
    while (lines.childElementCount < texts.length) lines.append(document.createElement("div"));
    for (const [k, line] of [...lines.children].entries()) {
      if (line.textContent !== texts[k]) line.textContent = texts[k];
      if (line.className !== (marks[k] ?? "")) line.className = marks[k] ?? "";
    }
    lines.scrollTop = source.scrollTop;
  }
  function lineOf({ where }) {
    if (!where) return null;
    const cell = notebook && cellsInEditor().get(where.cell);
    return cell ? cell.line + where.cell_line - 1 : where.line - 1;
  }
  function goTo(line, anchor) {
    const start = source.value.split("\n").slice(0, line).join("\n").length + (line ? 1 : 0);
    byId("view-source").checked = true;
    source.focus();
    source.setSelectionRange(start, start);
    const row = lines.children[line];
    if (row) source.scrollTop = row.offsetTop - source.clientHeight / 3;
    report.contentDocument?.getElementById(anchor)?.scrollIntoView({ block: "center" });
  }

  // -- judging --------------------------------------------------------------------------------------------------------
  async function judge() {
    current?.abort();
    const mine = current = new AbortController();
    const query = new URLSearchParams({ file: name + kind.value, problem: problem.value });
    const late = setTimeout(() => say("Checking …"), 400);
    try {
      const body = new Blob([kind.value === ".ipynb" ? notebookAsText() : source.value]);
      // The server would hang up before the browser has sent so much and reads why.
      if (body.size > LIMIT) return say(`The document is larger than ${LIMIT / 1e6} MB. Split it.`, true);
      const response = await fetch(`judge?${query}`, { method: "POST", body, signal: mine.signal });
      const answer = await response.json();
      if (mine === current) show(answer);
    } catch (error) {
      if (error.name !== "AbortError" && mine === current) say("Regard does not answer. Is `regard serve` still running?", true);
    } finally {
      clearTimeout(late);
    }
  }
  function judgeSoon() {
    draw();
    clearTimeout(timer);
    timer = setTimeout(judge, PAUSE);
    try { sessionStorage.setItem("regard-text", source.value); } catch { /* too long to keep */ }
  }
  function say(text, isFailed = false) {
    if (status.textContent !== text) status.textContent = text;
    status.classList.toggle("failed", isFailed);
  }
  function show(answer) {
    if (!answer.page) return say(answer.reason, true);
    say(`${answer.problem ? `${answer.problem}: ` : ""}${answer.summary}`);
    mark(answer.steps);
    list(answer.steps.filter(({ standing }) => standing === "refuted" || standing === "undecided"));
    display(answer);
  }
  function mark(steps) {
    const worst = ["given", "proved", "holds", "undecided", "refuted"];
    marks = [];
    for (const step of steps) {
      const line = lineOf(step);
      if (line !== null && worst.indexOf(step.standing) > worst.indexOf(marks[line])) marks[line] = step.standing;
    }
    draw();
  }
  function list(steps) {
    const focused = [...attention.children].findIndex((item) => item.contains(document.activeElement));
    attention.replaceChildren(...steps.map((step) => {
      const line = lineOf(step);
      const [item, button, label] = ["li", "button", "b"].map((tag) => document.createElement(tag));
      item.className = step.standing;
      button.type = "button";
      label.textContent = step.label;
      button.append(line === null ? "" : `Line ${line + 1}: `, label, ` · ${step.text}`);
      button.addEventListener("click", () => goTo(line ?? 0, step.anchor));
      item.append(button);
      return item;
    }));
    attention.parentElement.hidden = steps.length === 0;
    attention.children[focused]?.firstElementChild.focus();
  }

  // -- the report -----------------------------------------------------------------------------------------------------
  // After the first report only its contents change, so that the reader's place, open parts and filter stay.
  function display({ key, page }) {
    const inside = report.contentDocument;
    const [main, margin] = ["main", ".margin"].map((part) => inside?.querySelector(part));
    if (!shown || !main || !margin) {
      shown = key;
      report.src = `report/${key}`;
      return;
    }
    if (key === shown) return;
    shown = key;
    const fresh = new report.contentWindow.DOMParser().parseFromString(page, "text/html");
    const [top, filter] = [inside.scrollingElement.scrollTop, inside.querySelector("input[name=show]:checked")?.id];
    const folds = new Map([...inside.querySelectorAll("main > details, .margin > details")].map((each) => [each.className, each.open]));
    fresh.querySelector(".brand").remove();
    main.replaceChildren(...fresh.querySelector("main").childNodes);
    margin.replaceChildren(...fresh.querySelector(".margin").childNodes);
    for (const each of inside.querySelectorAll("main > details, .margin > details")) each.open = folds.get(each.className) ?? each.open;
    const choice = filter && inside.getElementById(filter);
    if (choice && !choice.disabled) choice.checked = true;
    inside.title = fresh.title;
    inside.scrollingElement.scrollTop = top;
    report.contentWindow.dispatchEvent(new Event("resize"));
  }
  report.addEventListener("load", () => {
    report.contentDocument?.querySelector(".brand")?.remove();
    report.contentDocument?.querySelector(".questions")?.removeAttribute("open");
  });

  // -- opening a file -------------------------------------------------------------------------------------------------
  async function open(chosen) {
    const ending = chosen.name.match(/\.[^.]*$/)?.[0].toLowerCase() ?? "";
    let text, cells = null;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(await chosen.arrayBuffer());
      if (ending === ".ipynb") {
        cells = JSON.parse(text);
        text = cellsAsText(cells);
      }
    } catch {
      return say(`${chosen.name} can't be read: it is not ${ending === ".ipynb" ? "a notebook" : "UTF-8 text"}.`, true);
    }
    // A browser takes minutes to show so much.
    if (text.length > LIMIT) return say(`${chosen.name} is larger than ${LIMIT / 1e6} MB. Split it.`, true);
    if (text.split("\n", LINE_LIMIT + 1).length > LINE_LIMIT) return say(`${chosen.name} has more than ${LINE_LIMIT} lines. Split it.`, true);
    if (![...kind.options].some(({ value }) => value === ending)) return say(`${chosen.name} is not a kind of file that can be read. Supported: ${file.accept}.`, true);
    notebook = cells;
    name = chosen.name.slice(0, -ending.length) || "answers";
    kind.options[kind.options.length - 1].disabled = !notebook;
    kind.value = ending;
    source.value = text;
    marks = [];
    judgeSoon();
  }

  file.addEventListener("change", () => { if (file.files[0]) open(file.files[0]); });
  source.addEventListener("input", judgeSoon);
  source.addEventListener("scroll", () => { lines.scrollTop = source.scrollTop; }, { passive: true });
  problem.addEventListener("change", judge);
  kind.addEventListener("change", judge);
  document.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  if (location.search) history.replaceState(null, "", location.pathname);
  try { source.value = sessionStorage.getItem("regard-text") ?? source.value; } catch { /* nothing is kept */ }
  draw();
  judge();
})();
