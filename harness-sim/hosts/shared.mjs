// What both hosts have: lines of JSON as commands and answers, the loading of modules, what modules print. Node 20 or
// later, no dependencies. It stands beside the host's script.

import { spawnSync } from "node:child_process";
import { readFileSync, writeSync } from "node:fs";
import * as node from "node:module";
import { pathToFileURL } from "node:url";

// The simulator has its answers on a descriptor of their own, so that nothing that a module or its children print can be
// one. Whoever starts the host without that reads them on stdout. Children get neither the variable nor the descriptor.
const answers = process.env.HARNESS_SIM_ANSWERS;
delete process.env.HARNESS_SIM_ANSWERS;
const write = answers ? (text) => writeAll(Number(answers), text) : process.stdout.write.bind(process.stdout);
// Node 22.13 has it. What it cannot take out (enums, namespaces, decorators) is none of the types.
const CAN_STRIP = typeof node.stripTypeScriptTypes === "function";
// What a missing part of Node or of the simulator says; it is no fault of a module.
const NOT_HERE = {
  ERR_MODULE_NOT_FOUND: (error) => `it imports what the simulator's host does not have: ${firstLine(error.message)}`,
  ERR_UNSUPPORTED_DIR_IMPORT: (error) => `it imports a folder, which Node does not: ${firstLine(error.message)}`,
  ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX: (error) => `Node cannot take its types out: ${firstLine(error.message)}`,
};

// In a thread of its own. A `.js` is a module whatever stands around it, and a `.ts` without its types.
const LOADER = `
import * as node from "node:module";
import { readFileSync } from "node:fs";
process.removeAllListeners("warning");
export function load(url, context, next) {
  const path = new URL(url);
  if (path.protocol === "file:" && path.pathname.endsWith(".js")) return next(url, { ...context, format: "module" });
  if (path.protocol !== "file:" || !path.pathname.endsWith(".ts")) return next(url, context);
  path.search = "";
  const text = readFileSync(path, "utf8");
  const source = node.stripTypeScriptTypes?.(text) ?? text;
  return { format: "module", source, shortCircuit: true };
}`;
node.register(`data:text/javascript,${encodeURIComponent(LOADER)}`);

function writeAll(descriptor, text) {
  for (let rest = Buffer.from(text); rest.length > 0; ) rest = rest.subarray(writeSync(descriptor, rest));
}

export function say(line) {
  write(`${JSON.stringify(line)}\n`);
}

/** Loads a module anew. `null`: it cannot be loaded here, which has been said, and is no fault of it. */
export async function load(path, instance) {
  try {
    return await import(`${pathToFileURL(path).href}?${instance}`);
  } catch (error) {
    const isTyped = path.endsWith(".ts") && !CAN_STRIP && error instanceof SyntaxError;
    const why = isTyped ? "types are taken out by Node 22.13 or later" : NOT_HERE[error?.code]?.(error);
    if (why === undefined) throw named(path, error);
    say({ not_run: { path, why } });
    return null;
  }
}

function named(path, error) {
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const line = error instanceof SyntaxError ? lineOf(path) : undefined;
  return new Error(`${path}${line ? `:${line}` : ""}: ${firstLine(message)}`);
}

/** Where the syntax error of a file is: Node tells it on its own stderr only. */
function lineOf(path) {
  const options = { input: readFileSync(path), encoding: "utf8" };
  const { stderr } = spawnSync(process.execPath, ["--check", "--input-type=module", "-"], options);
  return stderr?.split("\n")[0].match(/:(\d+)$/)?.[1];
}

function firstLine(text) {
  return String(text).split("\n").map((line) => line.trim()).find((line) => line !== "") ?? "";
}

/** What a module prints is told, and is no line of ours. */
export function captureOutput() {
  for (const stream of ["stdout", "stderr"]) {
    process[stream].write = (chunk, encoding, done) => {
      const text = typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8");
      say({ console: { stream, text } });
      (typeof encoding === "function" ? encoding : done)?.();
      return true;
    };
  }
}

/** A field, an event or a hook that the harness does not know; `known`: those that it does. */
export function odd(where, name, known) {
  say({ odd: { where, name, known: [...known] } });
}

/** Tells which fields of a result the harness does not read, and which it reads otherwise. */
export function look(where, result, fields) {
  if (typeof result !== "object" || result === null) {
    say({ odd: { where, result: kind(result), known: Object.keys(fields) } });
    return;
  }
  for (const [name, value] of Object.entries(result)) {
    if (!(name in fields)) odd(where, name, Object.keys(fields));
    else if (value !== undefined && fields[name] && !fields[name].includes(kind(value))) {
      say({ odd: { where, name, is: kind(value), wants: fields[name] } });
    }
  }
}

/** The kinds of an object's fields. */
export function kinds(object) {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, kind(value)]));
}

/** Tells what a hook has made of an object that it may change: fields of another kind than before, and new ones. */
export function compare(where, before, object, known) {
  for (const [name, is] of Object.entries(kinds(object))) {
    if (name in before && before[name] !== is) say({ odd: { where, name, is, wants: [before[name]] } });
    if (!(name in before) && !known.includes(name)) say({ odd: { where, name, of: "the output", known } });
  }
}

function kind(value) {
  return value === null ? "null" : Array.isArray(value) ? "a list" : `a ${typeof value}`.replace("a object", "an object");
}

/** Takes commands until stdin ends. `holds`: whether stdin holds the process while a command is under way. */
export function serve(obeyed, { holds = () => false, isLast = () => false }) {
  const pending = [];
  async function obey(line) {
    const command = JSON.parse(line);
    const begun = performance.now();
    pending.push(command.do);
    if (!holds()) process.stdin.unref();
    await obeyed(command);
    pending.splice(pending.indexOf(command.do), 1);
    if (pending.length === 0 && !isLast(command)) process.stdin.ref();
    say({ done: command.do, milliseconds: Math.round(performance.now() - begun) });
  }
  let rest = "";
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) void obey(line);
  });
  process.on("beforeExit", () => {
    if (pending.length === 0) return;
    say({ abandoned: pending.splice(0) });
    process.exitCode = 13;
  });
  for (const name of ["uncaughtException", "unhandledRejection"]) {
    process.on(name, (error) => {
      say({ crash: String(error?.stack ?? error) });
      process.exit(1);
    });
  }
}
