// Starts `regard lsp` for Markdown and LaTeX, and says what to install if it can't be started.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const LANGUAGES = ["markdown", "latex", "tex"];
let client;

/** How the client starts the server, from the setting `regard.command`. */
function serverOptions(command) {
  const [program, ...args] = command;
  return { command: program, args, options: { env: { ...process.env, PYTHONUTF8: "1" } } };
}

/** The documents that the server gets: saved ones, and new ones that have a language. */
function documentSelector() {
  return LANGUAGES.flatMap((language) => [
    { scheme: "file", language },
    { scheme: "untitled", language },
  ]);
}

async function start() {
  const command = vscode.workspace.getConfiguration("regard").get("command");
  client = new LanguageClient("regard", "Regard", serverOptions(command), { documentSelector: documentSelector() });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const how = "Install it (pip install 'regard[lsp]'), or set regard.command.";
    vscode.window.showErrorMessage(`Regard: “${command.join(" ")}” can't be started: ${error.message}. ${how}`);
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart() {
  await stop();
  await start();
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("regard.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("regard.command") && restart()),
  );
  await start();
}

module.exports = { activate, deactivate: stop, documentSelector, serverOptions };
