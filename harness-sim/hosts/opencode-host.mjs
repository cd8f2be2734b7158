// A fake OpenCode: loads real plugin files, offers them the plugin surface of OpenCode 1.18.33, and tells what the model
// would have been sent. Node 20 or later, no dependencies.
//
// Started as OpenCode is, so that plugins and their children find an OpenCode: a copy of this file in
// `…/node_modules/opencode-ai/bin/`, shared.mjs beside it, run by `node <that file>`.
//
// One JSON object per line on stdin is a command, and begins when it is read, also while another is under way:
//
//   {"do":"start","plugins":[PATH…],"mode":"run"|"serve"|"tui","argv":[WORD…]?,"directory":D?,"worktree":W?}
//                    loads the modules and calls every export; `argv` is what plugins see of the command line, instead
//                    of what the mode alone makes of it
//   {"do":"session","session":ID,"parent":ID?}          session.created; a `parent` makes it a sub-agent's
//   {"do":"prompt","session":ID,"text":T,"agent":A?,"outcome":"aborted"|"error"?,"waits":true?}
//                    chat.message, and the turn: its requests, session.idle. The first answer of one that `waits` comes
//                    with {"do":"answer"}; a command that finds the session at work adds its message to that turn
//   {"do":"answer","session":ID}
//   {"do":"tool","session":ID,"name":N,"input":ANY,"id":ID?}     tool.execute.before, and unless blocked …after
//   {"do":"compact","session":ID}                       experimental.session.compacting, session.compacted, session.idle
//   {"do":"event","event":{"type":TYPE,"properties":{…},"id":ID?}}        any event, as it is
//   {"do":"delete","session":ID}                        session.deleted
//   {"do":"dispose"}                                    each plugin's, one after the other; events go on meanwhile
//   {"do":"exit"}                                       process.exit
//   {"do":"listeners"}                                  what listens to the process
//
// stdout tells, one object per line:
//
//   {"event":TYPE,"id":ID,"session":ID}                 given to the plugins, which nobody waits for
//   {"prompt_async":{"id":SESSION,"body":{…}}}          a plugin's call; {"log":{…}} another
//   {"message":{"session":ID,"agent":A,"texts":[T…],"synthetic":[BOOL…]}}         a user's message was kept
//   {"provider_call":{"session":ID,"for":"turn"|"title"|"summary","agent":A,"system":[…],"messages":[{role,content}…]}}
//   {"dangling":{"session":ID}}                         a prompt that came when `run` was leaving: no request follows
//   {"blocked":{"reason":R}} | {"ran":{"name":N,"input":ANY}}    a tool call
//   {"tool_result":TEXT}                                what the model gets in the place of the tool's own result
//   {"error":{"hook":NAME,"message":M}}                 a plugin threw where OpenCode goes on
//   {"notify":{"text":T,"type":Y,"shown":BOOL}}             a toast, which the terminal program shows
//   {"console":{"stream":"stdout"|"stderr","text":T}}       what a plugin printed
//   {"odd":{"where":W,"name":NAME,"known":[…]}}             what OpenCode does not read: a hook's name, a hook's result,
//                                                       a field of its output; with "is" a field of another kind
//   {"not_run":{"path":P,"why":W}}                          a plugin that this host cannot load, and OpenCode might
//   {"listeners":{NAME:COUNT…}}
//   {"done":COMMAND,"milliseconds":MS}                  always the last line of a command
//   {"abandoned":[COMMAND…]}                node had nothing left to wait for while these were under way; exit code 13
//   {"crash":M}                             an exception or a rejection that nobody caught; exit code 1
//
// As in `run`, only stdin holds this process, and only between commands: whatever a plugin references keeps it, and what a
// plugin has OpenCode await without a reference ends it. `serve` and `tui` hold it until stdin ends.

import { captureOutput, compare, kinds, load, odd, say, serve } from "./shared.mjs";

// A plugin's `process.argv`. The TUI's worker does not see what the person has typed.
const ARGV = {
  run: ["bun", "/$bunfs/root/src/index.js", "run", "hello"],
  serve: ["bun", "/$bunfs/root/src/index.js", "serve"],
  tui: ["bun", "/$bunfs/root/src/cli/tui/worker.js"],
};
const MODEL = { providerID: "fake", modelID: "fake-model" };
const VERSION = "1.18.33";

// A plugin's hooks.
const HOOKS = (
  "auth chat.headers chat.message chat.params command.execute.before config dispose event " +
  "experimental.chat.messages.transform experimental.chat.system.transform experimental.compaction.autocontinue " +
  "experimental.provider.small_model experimental.session.compacting experimental.text.complete permission.ask provider " +
  "shell.env tool tool.definition tool.execute.after tool.execute.before"
).split(" ");

// What of an output OpenCode reads, of the hooks that are played here (@opencode-ai/plugin 1.18.33).
const OUTPUTS = {
  "chat.message": ["message", "parts"],
  "tool.execute.before": ["args"],
  "tool.execute.after": ["title", "output", "metadata"],
  "experimental.chat.system.transform": ["system"],
  "experimental.session.compacting": ["context", "prompt"],
};

const sessions = new Map();
let hooks = [];
let mode = "run";
let directory = process.cwd();
let isLeaving = false;
let ids = 0;

// OpenCode's ids sort by the time at which they were made.
function newId(kind) {
  ids += 1;
  return `${kind}_${String(ids).padStart(12, "0")}made0up0000000`;
}

function failed(hook, error) {
  say({ error: { hook, message: error instanceof Error ? error.message : String(error) } });
}

// Each plugin gets an object of its own; nobody waits for what it returns.
function publish(type, properties, id = newId("evt")) {
  say({ event: type, id, session: properties.sessionID });
  for (const hook of hooks) {
    const given = { event: { id, type, properties } };
    try {
      Promise.resolve(hook.event?.(given)).catch((error) => failed("event", error));
    } catch (error) {
      failed("event", error);
    }
  }
}

// All plugins get the same objects, one after the other. One that throws ends it.
async function trigger(name, input, output) {
  for (const hook of hooks) {
    if (!hook[name]) continue;
    // They change `output`; what they return is nobody's.
    const before = kinds(output);
    const result = await hook[name](input, output);
    compare(name, before, output, OUTPUTS[name]);
    if (result !== undefined && result !== output) say({ odd: { where: name, result: true } });
  }
  return output;
}

function sessionOf(id) {
  const session = sessions.get(id);
  if (!session) throw new Error(`no session ${id}`);
  return session;
}

function info(session) {
  const { id, parentID, agent } = session;
  const more = { ...(parentID && { parentID }), ...(agent && { agent, model: { id: MODEL.modelID, ...MODEL } }) };
  return { id, slug: "made-up", version: VERSION, projectID: "made-up", directory, title: session.title, ...more };
}

const client = {
  session: {
    async promptAsync({ path, body } = {}) {
      const session = sessions.get(path?.id);
      if (!session || !Array.isArray(body?.parts)) return { error: { name: "UnknownError" }, response: { status: 500 } };
      say({ prompt_async: { id: path.id, body } });
      hold(prompt(session, body));
      return { data: {}, response: { status: 204 } };
    },
    async get({ path }) {
      const session = sessions.get(path?.id);
      if (!session) return { error: { name: "NotFoundError" }, response: { status: 404 } };
      return { data: info(session), response: { status: 200 } };
    },
  },
  tui: {
    async showToast({ body } = {}) {
      say({ notify: { text: String(body?.message), type: String(body?.variant ?? "info"), shown: mode === "tui" } });
      return { data: true, response: { status: 200 } };
    },
  },
  app: {
    async log({ body }) {
      say({ log: body });
      return { data: true, response: { status: 200 } };
    },
  },
};

// A turn that goes on behind a command holds the process as a server's request would.
function hold(promise) {
  const timer = setInterval(() => {}, 60_000);
  void promise.finally(() => clearInterval(timer));
}

// Keeps a user's message. Whoever names no agent takes the session to the one that is set by default.
async function keep(session, { parts, agent = "build", model = MODEL, variant }) {
  const message = { id: newId("msg"), role: "user", sessionID: session.id, agent, model: { ...model, variant } };
  const own = { messageID: message.id, sessionID: session.id };
  const made = parts.map((part) => ({ ...part, ...own, id: part.id ?? newId("prt") }));
  const isChanged = session.agent !== agent;
  session.agent = agent;
  if (isChanged) publish("session.updated", { sessionID: session.id, info: info(session) });
  await trigger("chat.message", { sessionID: session.id }, { message, parts: made });
  made.sort((one, other) => (one.id < other.id ? -1 : 1));
  session.messages.push({ ...message, parts: made });
  session.messages.sort((one, other) => (one.id < other.id ? -1 : 1));
  const synthetic = made.map((part) => part.synthetic === true);
  say({ message: { session: session.id, agent: message.agent, texts: made.map((part) => part.text), synthetic } });
  publish("session.updated", { sessionID: session.id, info: info(session) });
}

async function prompt(session, { noReply, waits, outcome, ...body }) {
  await keep(session, body);
  if (waits) session.answer = new Promise((resolve) => (session.giveAnswer = resolve));
  if (outcome) session.outcome = outcome;
  if (noReply === true) return;
  if (isLeaving) say({ dangling: { session: session.id } });
  else await (session.turn ??= turn(session).finally(() => (session.turn = undefined)));
}

// One turn: requests until the last message that a user has sent is answered.
async function turn(session) {
  for (let step = 1; ; step += 1) {
    status(session, "busy");
    const asked = session.messages.findLast((message) => message.role === "user");
    if (session.messages.some((message) => message.parentID === asked.id)) break;
    if (step === 1) await title(session);
    await request(session, "turn", asked.agent, session.messages);
    await session.answer;
    session.answer = undefined;
    const { outcome } = session;
    session.outcome = undefined;
    const answer = { role: "assistant", parentID: asked.id, parts: [{ type: "text", text: "FINAL-TEXT" }] };
    session.messages.push({ id: newId("msg"), ...answer });
    if (outcome) {
      const name = outcome === "aborted" ? "MessageAbortedError" : "APIError";
      publish("session.error", { sessionID: session.id, error: { name, data: { message: "made up" } } });
      // Seen: it goes idle twice.
      idle(session);
      break;
    }
  }
  idle(session);
}

function status(session, type) {
  publish("session.status", { sessionID: session.id, status: { type } });
}

function idle(session) {
  status(session, "idle");
  publish("session.idle", { sessionID: session.id });
  isLeaving = mode === "run";
}

// Made of the only message that is not synthetic.
async function title(session) {
  const real = session.messages.filter((message) => message.parts.some((part) => !part.synthetic));
  if (session.parentID || session.title !== "New session" || real.length !== 1) return;
  session.title = "made of it";
  await request(session, "title", "title", real);
}

async function request(session, purpose, agent, kept) {
  const input = { sessionID: session.id, model: { id: MODEL.modelID, providerID: MODEL.providerID } };
  const { system } = await trigger("experimental.chat.system.transform", input, { system: ["SYSTEM"] });
  const messages = kept.map(({ role, parts }) => ({ role, content: parts.map((part) => part.text) }));
  say({ provider_call: { session: session.id, for: purpose, agent, system, messages } });
}

const commands = {
  async start(command) {
    mode = command.mode;
    directory = command.directory ?? process.cwd();
    isLeaving = false;
    process.argv = command.argv ?? ARGV[mode];
    const input = {
      client,
      project: { id: "made-up", worktree: command.worktree ?? directory, vcs: "git" },
      worktree: command.worktree ?? directory,
      directory,
      experimental_workspace: { register() {} },
      serverUrl: new URL("http://localhost:4096"),
      $: undefined,
    };
    hooks = [];
    const modules = await Promise.allSettled(command.plugins.map((path) => load(path, 0)));
    for (const { value: module, reason } of modules) {
      if (reason) failed("start", reason);
      if (!module) continue;
      try {
        const plugins = new Set(Object.values(module));
        // Seen: then none of them is called.
        if ([...plugins].some((plugin) => typeof plugin !== "function")) {
          throw new TypeError("Plugin export is not a function");
        }
        for (const plugin of plugins) {
          const made = await plugin(input);
          for (const name of Object.keys(made ?? {}).filter((name) => !HOOKS.includes(name))) odd("plugin", name, HOOKS);
          hooks.push(made ?? {});
        }
      } catch (error) {
        failed("start", error);
      }
    }
    for (const hook of hooks) {
      try {
        await hook.config?.({});
      } catch (error) {
        failed("config", error);
      }
    }
  },
  session({ session: id, parent }) {
    const session = { id, parentID: parent, title: "New session", messages: [] };
    sessions.set(id, session);
    publish("session.created", { sessionID: id, info: info(session) });
  },
  prompt: ({ session, text, ...more }) => prompt(sessionOf(session), { ...more, parts: [{ type: "text", text }] }),
  answer: ({ session }) => sessionOf(session).giveAnswer(),
  async tool({ session: sessionID, name, input, id = "call_1" }) {
    const call = { tool: name, sessionID, callID: id };
    try {
      await trigger("tool.execute.before", call, { args: input });
    } catch (error) {
      return say({ blocked: { reason: error instanceof Error ? error.message : String(error) } });
    }
    say({ ran: { name, input } });
    try {
      await trigger("tool.execute.after", { ...call, args: input }, { title: name, output: "done\n", metadata: {} });
    } catch (error) {
      // Seen: in the place of what the tool gave.
      say({ tool_result: error instanceof Error ? error.message : String(error) });
    }
  },
  async compact({ session: id }) {
    const session = sessionOf(id);
    status(session, "busy");
    const { context } = await trigger("experimental.session.compacting", { sessionID: id }, { context: [] });
    const text = { type: "text", text: ["Summarise.", ...context].join("\n\n") };
    await request(session, "summary", "compaction", [...session.messages, { role: "user", parts: [text] }]);
    const parts = [{ type: "text", text: "SUMMARY", synthetic: true }];
    const asked = { id: newId("msg"), role: "user", agent: session.agent, parts };
    session.messages = [asked, { id: newId("msg"), role: "assistant", parentID: asked.id, parts }];
    publish("session.compacted", { sessionID: id });
    idle(session);
  },
  event: ({ event }) => publish(event.type, event.properties, event.id),
  delete({ session: id }) {
    const session = sessionOf(id);
    sessions.delete(id);
    publish("session.deleted", { sessionID: id, info: info(session) });
  },
  async dispose() {
    for (const hook of hooks) {
      try {
        await hook.dispose?.();
      } catch (error) {
        failed("dispose", error);
      }
    }
    hooks = [];
  },
  exit: () => process.exit(0),
  listeners() {
    const names = process.eventNames().map((name) => [String(name), process.listenerCount(name)]);
    say({ listeners: Object.fromEntries(names) });
  },
};

captureOutput();
serve((command) => commands[command.do](command), { holds: () => mode !== "run" });
