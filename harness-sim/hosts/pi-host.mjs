// A fake Pi: loads real extension files, offers them the public event surface of Pi 1.6.0 (and of 0.73.1 where that
// differs), and tells what the model would have been sent. Node 20 or later, no dependencies.
//
// Started as Pi is, so that extensions and their children find a Pi: a copy of this file as
// `…/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js`, shared.mjs beside it, with a `package.json` of that name, its version and
// `"type": "module"` in the package's folder; run by `node <that file> [Pi's flags…]`. The flags are for extensions to
// see; the host itself acts on none.
//
// One JSON object per line on stdin is a command, and begins when it is read, also while another is under way:
//
//   {"do":"start","extensions":[PATH…],"mode":"print"?,"session":SESSION?}   loads them; session_start "startup"
//   {"do":"prompt","text":T,"outcomes":["stop"|"aborted"…]?}
//                    before_agent_start, the request, agent_end, agent_settled; how this run and those after it end
//   {"do":"tool","name":N,"input":{…},"id":ID?}         tool_call, and unless blocked tool_result
//   {"do":"compact","when":"idle"|"middle"|"after","willRetry":true?,"cancel":true?,"fail":true?}
//                    session_before_compact, the request for a summary, session_compact or session_compact_failed.
//                    In the "middle" of a run its next request follows; "after" its last one, only what is queued
//   {"do":"replace","reason":"new"|"resume"|"fork","session":SESSION?,"silent":true?}
//                    the same modules, their factories again; silent: without a session_shutdown
//   {"do":"reload"}                                     the modules anew, the same session
//   {"do":"abort"}                                      the person gives a compaction up
//   {"do":"shutdown"}                                   session_shutdown "quit"; no command is read after it
//   {"do":"exit"}                                       process.exit, as at a second signal: no session_shutdown
//   {"do":"listeners"}                                  what listens to the process
//   {"do":"printed"}                                    what print mode would print at its end
//
// SESSION is {"id":ID?,"created":RFC 3339?}: made up where left out, created now. stdout tells, one object per line:
//
//   {"event":NAME}                          its handlers begin; they run one after the other, each awaited
//   {"message":{session,customType,content,display}}        an extension's message became a part of that session
//   {"provider_call":{session,"for":"prompt"|"message"|"summary"|"continuation"|"retry","messages":[{role,content}…]}}
//   {"blocked":{"reason":R}} | {"ran":{"name":N,"input":{…}}}   a tool call
//   {"error":{"event":NAME,"message":M}}    a handler threw; Pi says so on stderr and goes on
//   {"notify":{"text":T,"type":Y,"shown":BOOL}}            for the person; print mode does not show it
//   {"console":{"stream":"stdout"|"stderr","text":T}}       what an extension printed
//   {"odd":{"where":EVENT,"name":FIELD,"known":[…]}}        what Pi does not read: a field, its type, an event's name
//   {"not_run":{"path":P,"why":W}}                         an extension that this host cannot load, and Pi might
//   {"stale":NAME}                          that function of a `pi` that has been replaced was called, and threw
//   {"listeners":{NAME:COUNT…}}
//   {"printed":TEXT|null}                   the last message, if it is an answer
//   {"done":COMMAND,"milliseconds":MS}      always the last line of a command
//   {"abandoned":[COMMAND…]}                node had nothing left to wait for while these were under way; exit code 13
//   {"crash":M}                             an exception or a rejection that nobody caught; exit code 1
//
// Only stdin holds this process, and only between commands: as in print mode, whatever an extension references keeps it,
// and what an extension has Pi await without a reference ends it.

import { readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { captureOutput, load as loadModule, look, odd, say, serve } from "./shared.mjs";

const VERSION = JSON.parse(
  readFileSync(join(dirname(realpathSync(process.argv[1])), "../../package.json"), "utf8"),
).version;
const HAS_MODE = isAtLeast([0, 78, 1]);
const HAS_SETTLED = isAtLeast([0, 80, 4]);
const IS_1 = isAtLeast([1, 0, 0]);
const STALE = "This extension ctx is stale after session replacement or reload.";

// As Pi does: its children find it by that name.
process.title = "pi";

// Events, and what Pi reads of a handler's result; nothing where it reads none.
const TEXT = ["a string"];
const FLAG = ["a boolean"];
const RESULTS = {
  tool_call: { block: FLAG, reason: TEXT, terminate: FLAG },
  tool_result: {
    content: ["a list"], details: null, structuredContent: null, isError: FLAG, usage: ["an object"],
  },
  before_agent_start: { message: ["an object"], systemPrompt: TEXT },
  session_before_compact: { cancel: FLAG, compaction: ["an object"] },
  session_before_switch: { cancel: FLAG },
  session_before_fork: { cancel: FLAG, skipConversationRestore: FLAG },
  session_before_tree: { cancel: FLAG, summary: ["an object"] },
  agent_before_settle: { entries: ["a list"], continue: FLAG },
  input: { action: TEXT, text: TEXT, images: ["a list"] },
};
const EVENTS = new Set([
  ...Object.keys(RESULTS),
  ...("after_provider_response agent_end agent_settled agent_start before_provider_request context message_end " +
    "message_start message_update model_select project_trust resources_discover session_compact " +
    "session_compact_failed session_info_changed session_shutdown session_start session_tree thinking_level_select " +
    "tool_execution_end tool_execution_start tool_execution_update turn_end turn_start user_bash").split(" "),
]);

let extensions = [];
let mode = "print";
let session = null;
let runner = null;
let loads = 0;
let sessions = 0;

function isAtLeast(wanted) {
  const parts = VERSION.split(/[.-]/).map(Number);
  const at = wanted.findIndex((part, index) => part !== parts[index]);
  return at === -1 || parts[at] > wanted[at];
}

// A session: its header and the messages that the next request would hold.
function newSession(given = {}) {
  sessions += 1;
  const id = given.id ?? `01a20000-0000-7000-8000-${String(sessions).padStart(12, "0")}`;
  const timestamp = given.created ?? new Date().toISOString();
  const header = { type: "session", version: 3, id, timestamp, cwd: process.cwd() };
  const file = join(process.cwd(), ".pi-sessions", `${timestamp.replace(/[:.]/g, "-")}_${id}.jsonl`);
  const queues = { steering: [], followUps: [], held: [], nextTurn: [] };
  const work = { isRunning: false, signal: undefined, compaction: null, outcomes: [], work: new Set() };
  return { header, file, messages: [], ...queues, ...work };
}

// Loads the extensions' modules, each load a new instance. One that fails ends Pi, which names it.
async function load(paths) {
  extensions = [];
  for (const path of paths) {
    loads += 1;
    const module = await loadModule(path, loads);
    if (module === null) continue;
    if (typeof module.default !== "function") throw new Error(`${path}: its default export is no function`);
    extensions.push({ path, factory: module.default });
  }
}

// One life of the extensions: from their factories to a replacement, after which all that they were given throws.
async function bind() {
  const made = { isStale: false, isSettling: false, deferred: [], handlers: [] };
  for (const { path, factory } of extensions) await factory(makeApi(made, path));
  runner = made;
}

function assertActive(of) {
  if (of.isStale) throw new Error(STALE);
}

function makeApi(of, path) {
  const api = {
    on(event, handler) {
      if (!EVENTS.has(event)) odd("on", event, EVENTS);
      const entry = { event, handler, path };
      of.handlers.push(entry);
      return () => of.handlers.splice(of.handlers.indexOf(entry), 1);
    },
    sendMessage(message, options) {
      send(of, message, options).catch((error) => failed(path, "send_message", error));
    },
    appendEntry() {},
    getSessionName: () => undefined,
    setSessionName() {},
  };
  for (const name of ["Tool", "Command", "Shortcut", "Flag", "MessageRenderer", "EntryRenderer", "Provider"]) {
    api[`register${name}`] = () => {};
  }
  for (const [name, action] of Object.entries(api)) {
    api[name] = (...values) => {
      if (of.isStale) say({ stale: name });
      assertActive(of);
      return action(...values);
    };
  }
  return api;
}

function notify(text, type = "info") {
  say({ notify: { text: String(text), type, shown: mode === "tui" || mode === "rpc" } });
}

function makeContext(of) {
  const own = session;
  const getters = {
    ui: () => ({ notify, setStatus() {} }),
    hasUI: () => mode === "tui" || mode === "rpc",
    cwd: () => own.header.cwd,
    sessionManager: () => ({
      getSessionId: () => own.header.id,
      getSessionFile: () => own.file,
      getHeader: () => own.header,
      getEntries: () => own.messages.map((message) => ({ type: "message", message })),
    }),
    model: () => ({ provider: "fake", id: "fake-model" }),
    signal: () => own.signal,
    ...(HAS_MODE && { mode: () => mode }),
  };
  const methods = {
    isIdle: () => !own.isRunning,
    abort: () => {},
    hasPendingMessages: () => own.steering.length + own.followUps.length > 0,
    shutdown: () => {},
    getContextUsage: () => ({ tokens: 0, contextWindow: 128_000, percent: 0 }),
    compact: () => {},
    getSystemPrompt: () => "",
    ...(IS_1 && { isProjectTrusted: () => true }),
  };
  const context = {};
  for (const [name, get] of Object.entries(getters)) {
    Object.defineProperty(context, name, { enumerable: true, get: () => (assertActive(of), get()) });
  }
  for (const [name, call] of Object.entries(methods)) {
    context[name] = (...values) => (assertActive(of), call(...values));
  }
  return context;
}

function failed(path, event, error) {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`Extension error (${path}): ${message}\n`);
  say({ error: { event, message } });
}

// Gives an event to its handlers and yields what each returns. `isStrict`: a handler that throws ends it.
async function emit(event, isStrict = false, seen = () => false) {
  const of = runner;
  say({ event: event.type });
  for (const { handler, path } of of.handlers.filter((entry) => entry.event === event.type)) {
    try {
      const result = await handler(event, makeContext(of));
      if (result === undefined || result === null) continue;
      if (event.type in RESULTS) look(event.type, result, RESULTS[event.type]);
      if (seen(result)) return;
    } catch (error) {
      if (isStrict) throw error;
      failed(path, event.type, error);
    }
  }
}

function append(own, message) {
  own.messages.push(message);
  if (message.role === "custom") {
    const { customType, content, display } = message;
    say({ message: { session: own.header.id, customType, content, display } });
  }
}

// What the model is sent: a custom message is a user's.
function request(own, purpose) {
  const messages = own.messages.map(({ role, content }) => ({ role: role === "custom" ? "user" : role, content }));
  say({ provider_call: { session: own.header.id, for: purpose, messages } });
}

async function send(of, message, options) {
  const own = session;
  const made = { role: "custom", ...message };
  if (options?.deliverAs === "nextTurn") {
    own.nextTurn.push(made);
  } else if (IS_1 && own.isRunning && options?.triggerTurn === false) {
    own.held.push(made);
  } else if (own.isRunning) {
    (options?.deliverAs === "followUp" ? own.followUps : own.steering).push(made);
  } else if (options?.triggerTurn) {
    if (of.isSettling) of.deferred.push(() => run(made));
    else await run(made);
  } else {
    append(own, made);
  }
}

// One run, from a person's prompt or an extension's message.
async function run(first) {
  const own = session;
  const isCustom = first.role === "custom";
  own.isRunning = IS_1;
  const added = [];
  // 0.73.1 starts a run of a custom message without it.
  if (!isCustom || IS_1) {
    const user = { prompt: first.content, ...(IS_1 && { messageType: "user" }) };
    const trigger = isCustom ? { messageType: "custom", message: first } : user;
    const event = { type: "before_agent_start", ...trigger, systemPrompt: "", systemPromptOptions: {} };
    await emit(event, false, (result) => {
      // Seen: a text in its place gives the model nothing.
      if (typeof result.message === "object") added.push({ role: "custom", ...result.message });
    });
  }
  for (const message of [...own.held.splice(0), first, ...own.nextTurn.splice(0), ...added]) append(own, message);
  own.isRunning = true;
  own.signal = new AbortController().signal;
  if (own === session) await emit({ type: "agent_start" });
  for (let purpose = isCustom ? "message" : "prompt"; ; purpose = "continuation") {
    for (const message of own.steering.splice(0)) append(own, message);
    request(own, purpose);
    // What has been replaced meanwhile goes no further.
    if (own !== session) return;
    append(own, { role: "assistant", content: "FINAL-TEXT" });
    if (own.followUps.length === 0) break;
    own.steering.push(...own.followUps.splice(0));
  }
  const outcome = own.outcomes.shift() ?? "stop";
  const ended = emit({ type: "agent_end", messages: [{ role: "assistant", stopReason: outcome }] });
  // 0.73.1 does not wait for it, not even at its end.
  if (HAS_SETTLED) await ended;
  own.isRunning = HAS_SETTLED;
  own.signal = undefined;
  await settle(own, outcome);
}

async function settle(own, outcome) {
  for (const message of own.held.splice(0)) append(own, message);
  if (HAS_SETTLED) {
    await emit({ type: "agent_before_settle", outcome });
    own.isRunning = false;
    const of = runner;
    of.isSettling = true;
    await emit({ type: "agent_settled", aborted: outcome === "aborted" });
    of.isSettling = false;
    for (const action of of.deferred.splice(0)) await action();
  }
  own.isRunning = false;
}

async function tool({ name, input, id = "call_1" }) {
  const own = session;
  own.signal = new AbortController().signal;
  const call = { toolName: name, toolCallId: id, input };
  let block = null;
  try {
    await emit({ type: "tool_call", ...call }, true, (result) => result.block && (block = result));
  } catch (error) {
    block = { reason: error instanceof Error ? error.message : String(error) };
  }
  if (block) {
    say({ blocked: { reason: block.reason } });
  } else {
    say({ ran: { name, input } });
    await emit({ type: "tool_result", ...call, content: [{ type: "text", text: "done\n" }], isError: false });
  }
  own.signal = undefined;
}

async function compact({ when = "idle", willRetry = false, cancel = false, fail = false }) {
  const own = session;
  const reason = when === "idle" ? "manual" : willRetry ? "overflow" : "threshold";
  // In 0.73.1 the run has ended by then.
  own.isRunning = when === "middle" || (IS_1 && when === "after");
  own.signal = when === "middle" ? new AbortController().signal : undefined;
  let isCancelled = cancel;
  const why = IS_1 ? { reason, willRetry } : {};
  own.compaction = new AbortController();
  const { signal } = own.compaction;
  const before = { type: "session_before_compact", preparation: {}, branchEntries: [], ...why, signal };
  await emit(before, false, (result) => result.cancel === true && (isCancelled = true));
  isCancelled ||= signal.aborted;
  if (!isCancelled) request(own, "summary");
  if (isCancelled || fail) {
    const errorMessage = isCancelled ? undefined : "Compaction failed: made up";
    await emit({ type: "session_compact_failed", reason, errorMessage, aborted: isCancelled, willRetry: false });
  } else {
    // A run's last messages stay.
    own.messages = [{ role: "user", content: "SUMMARY" }, ...(when === "idle" ? [] : own.messages.slice(-1))];
    const compactionEntry = { type: "compaction", id: "aecebb4d", summary: "SUMMARY" };
    await emit({ type: "session_compact", compactionEntry, fromExtension: false, ...why });
  }
  if (when === "middle" || (when === "after" && (willRetry || own.steering.length > 0))) {
    for (const message of own.steering.splice(0)) append(own, message);
    request(own, willRetry ? "retry" : "continuation");
  }
  own.signal = undefined;
  if (when !== "idle") await settle(own, "completed");
}

async function leave(reason, isSilent = false) {
  if (!isSilent) {
    // Pi 1 waits for what is under way, handlers included.
    session.compaction?.abort();
    if (IS_1) await Promise.allSettled(session.work);
    await emit({ type: "session_shutdown", reason });
  }
  runner.isStale = true;
}

const commands = {
  async start(command) {
    mode = command.mode ?? "print";
    session = newSession(command.session);
    await load(command.extensions);
    await bind();
    await emit({ type: "session_start", reason: "startup" });
  },
  prompt({ text, outcomes = [] }) {
    session.outcomes = outcomes;
    return run({ role: "user", content: text });
  },
  tool,
  compact,
  async replace(command) {
    const previousSessionFile = session.file;
    await leave(command.reason, command.silent);
    session = newSession(command.session);
    await bind();
    await emit({ type: "session_start", reason: command.reason, previousSessionFile });
  },
  async reload() {
    await leave("reload");
    await load(extensions.map(({ path }) => path));
    await bind();
    await emit({ type: "session_start", reason: "reload" });
  },
  async shutdown() {
    process.stdin.pause();
    await leave("quit");
  },
  abort: () => session.compaction?.abort(),
  exit: () => process.exit(0),
  printed() {
    const last = session.messages.at(-1);
    say({ printed: last?.role === "assistant" ? last.content : null });
  },
  listeners() {
    const names = process.eventNames().map((name) => [String(name), process.listenerCount(name)]);
    say({ listeners: Object.fromEntries(names) });
  },
};

captureOutput();
serve(
  async (command) => {
    const begunIn = session;
    const work = Promise.resolve(commands[command.do](command));
    if (["prompt", "tool", "compact"].includes(command.do)) begunIn.work.add(work);
    await work;
    begunIn?.work.delete(work);
  },
  { isLast: (command) => command.do === "shutdown" },
);
