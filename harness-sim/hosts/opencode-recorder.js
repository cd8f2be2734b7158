// harness-sim: keeps what OpenCode hands to a plugin. Written by `harness-sim record` into a copy of a home.
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const RAW = "<RAW>";
const HOOKS = (
  "chat.headers chat.message chat.params command.execute.before permission.ask experimental.chat.messages.transform " +
  "experimental.chat.system.transform experimental.session.compacting experimental.text.complete shell.env " +
  "tool.execute.after tool.execute.before"
).split(" ");
let count = 0;

export const Recorder = async (given) => {
  keep("plugin", {
    keys: Object.keys(given),
    directory: given.directory,
    worktree: given.worktree,
    serverUrl: String(given.serverUrl ?? ""),
    project: plain(given.project),
    clientKeys: Object.keys(given.client ?? {}),
    sessionKeys: Object.getOwnPropertyNames(Object.getPrototypeOf(given.client?.session ?? {})),
    argv: process.argv,
  });
  const hook = (name) => async (input, output) =>
    keep(`hook.${name}`, { input: plain(input), output_before_plugin_mutation: plain(output) });
  return {
    event: async ({ event }) => keep(`event.${event?.type}`, { event: plain(event) }),
    config: async (config) => keep("hook.config", { input: { keys: Object.keys(config) }, output_before_plugin_mutation: null }),
    dispose: async () => keep("hook.dispose", { input: null, output_before_plugin_mutation: null }),
    ...Object.fromEntries(HOOKS.map((name) => [name, hook(name)])),
  };
};

// What can be written down of a value: no functions, no circles, no end of depth.
function plain(value, depth = 0, seen = new Set()) {
  if (value === null || typeof value !== "object") return typeof value === "function" ? undefined : value;
  if (depth > 8 || seen.has(value)) return "<left out>";
  const inner = new Set(seen).add(value);
  if (Array.isArray(value)) return value.map((entry) => plain(entry, depth + 1, inner) ?? null);
  const entries = Object.keys(value).map((key) => [key, plain(attempt(() => value[key]), depth + 1, inner)]);
  return Object.fromEntries(entries.filter(([, entry]) => entry !== undefined));
}

function keep(event, payload) {
  attempt(() => {
    const name = join(RAW, `${String(Date.now()).padStart(20, "0")}-${process.pid}-${String(count++).padStart(6, "0")}`);
    writeFileSync(`${name}.tmp`, JSON.stringify({ event, env: [], payload }));
    renameSync(`${name}.tmp`, `${name}.json`);
  });
}

function attempt(action) {
  try {
    return action();
  } catch {
    return undefined;
  }
}
