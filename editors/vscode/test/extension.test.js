// The extension with stand-ins for VS Code and its language client: what it starts, restarts and complains about.
const assert = require("node:assert");
const Module = require("node:module");
const test = require("node:test");

const started = [];
const stopped = [];
const shown = [];
const handlers = {};
let failure;

class LanguageClient {
  constructor(id, name, server, options) {
    Object.assign(this, { id, server, options });
  }

  async start() {
    if (failure) throw failure;
    started.push(this);
  }

  async stop() {
    stopped.push(this);
  }
}

const standIns = {
  vscode: {
    commands: { registerCommand: (name, handler) => (handlers[name] = handler) },
    window: { showErrorMessage: (text) => shown.push(text) },
    workspace: {
      getConfiguration: () => ({ get: () => ["regard", "lsp"] }),
      onDidChangeConfiguration: (handler) => (handlers.configuration = handler),
    },
  },
  "vscode-languageclient/node": { LanguageClient },
};
const load = Module._load;
Module._load = (name, ...rest) => standIns[name] ?? load(name, ...rest);
const extension = require("../src/extension.js");

test("the server is started for Markdown and LaTeX, restarted on a new command, and stopped", async () => {
  await extension.activate({ subscriptions: [] });
  assert.deepStrictEqual([started[0].server.command, started[0].server.args], ["regard", ["lsp"]]);
  const languages = new Set(started[0].options.documentSelector.map((each) => each.language));
  assert.deepStrictEqual([...languages], ["markdown", "latex", "tex"]);
  await handlers.configuration({ affectsConfiguration: (name) => name === "regard.command" });
  await handlers["regard.restart"]();
  assert.strictEqual(started.length, 3);
  await extension.deactivate();
  assert.strictEqual(stopped.length, 3);
  await extension.deactivate();
  assert.strictEqual(stopped.length, 3);
});

test("a server that can't be started says what to install", async () => {
  failure = new Error("spawn regard ENOENT");
  await extension.activate({ subscriptions: [] });
  assert.match(shown[0], /pip install 'regard\[lsp\]'/);
});
