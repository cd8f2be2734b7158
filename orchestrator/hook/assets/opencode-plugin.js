// dogwatch: OpenCode plugin. Written by `dogwatch install`; edits are lost, `dogwatch uninstall` removes it.
const BINARY = "dogwatch";

// It maps OpenCode's events to the moments of the binary, which decides everything, and brings what the binary prints to
// the model. Only one export: OpenCode calls every one of them as a plugin. Seen with OpenCode 1.18.33.

import { spawn } from "node:child_process";

/** Whether a guard that does not answer blocks the tool. Not before the binary has one. */
const GUARDED = false;
/** How long each moment may take, in milliseconds. OpenCode itself waits for a hook forever. */
const BOUND = {
  "session-open": 65_000,
  prompt: 10_000,
  "before-tool": 10_000,
  "after-tool": 10_000,
  "before-compact": 10_000,
  stop: 10_000,
  end: 2_000,
};
/** How long the binary has after TERM, and after KILL. */
const GRACE_MS = 1_000;
/** How long a dispose may take in all: OpenCode does not end before. */
const DISPOSE_MS = 2_000;
/** How long the first prompt of a session waits for the session's opening. */
const OPEN_WAIT_MS = 2_000;
/** How long the opening waits for the first prompt, which tells the agent that is chosen. */
const PROMPT_WAIT_MS = 1_000;
/** How long output may come after the binary has ended, from one who still holds its pipe. */
const DRAIN_MS = 250;
/** The most output that is kept of one run. */
const CAP_BYTES = 512 * 1024;
/** The most events whose ids are remembered. */
const MOST_CLAIMS = 4_096;

/**
 * What all copies of this plugin in one process share (the person's and the project's are both loaded, and `serve` has
 * one per folder). The number is raised when a copy does something else with it.
 */
const shared = (globalThis[Symbol.for("dogwatch.opencode.1")] ??= newShared());

function newShared() {
  const made = { claims: new Set(), outputs: new WeakSet(), sessions: new Map(), runs: new Set(), hasLogged: false };
  process.on("exit", () => {
    for (const run of made.runs) run.child.kill("SIGKILL");
  });
  return made;
}

/** Whether this copy is the first to see the event of that id. */
function claim(id) {
  if (shared.claims.has(id)) return false;
  shared.claims.add(id);
  if (shared.claims.size > MOST_CLAIMS) shared.claims.delete(shared.claims.values().next().value);
  return true;
}

/** As `claim`, for hooks: each copy is called with the same object, and the ids in it are not unique. */
function claimOutput(output) {
  if (shared.outputs.has(output)) return false;
  shared.outputs.add(output);
  return true;
}

function sessionOf(id) {
  let session = shared.sessions.get(id);
  if (!session) shared.sessions.set(id, (session = { id, sent: new Set() }));
  return session;
}

function after(milliseconds, act, isHeld = false) {
  const timer = setTimeout(act, milliseconds);
  if (!isHeld) timer.unref?.();
  return timer;
}

/** Resolves with the promise or after that time, whichever is first. A hook that is waited for holds the process. */
async function within(milliseconds, promise, isHeld) {
  let timer;
  const late = new Promise((resolve) => (timer = after(milliseconds, resolve, isHeld)));
  await Promise.race([promise, late]);
  clearTimeout(timer);
}

/**
 * Runs the binary for one moment: `{ text }` of what it printed, or `{ failure }`. It is answered at the latest at the
 * bound; a binary that still runs then is ended behind the caller's back. A run that nobody waits for (`isHeld` false)
 * does not keep OpenCode alive.
 */
function ask(moment, payload, { owner, isHeld = true, bound = BOUND[moment], words = [] }) {
  return new Promise((resolve) => {
    const run = { owner, hasEnded: false };
    run.ended = new Promise((ended) => (run.end = ended));
    const fail = (why) => resolve({ failure: `${moment}: ${why}` });
    const finish = (answer) => {
      clearTimeout(run.timer);
      run.hasEnded = true;
      shared.runs.delete(run);
      run.end();
      answer();
    };
    try {
      const options = { stdio: ["pipe", "pipe", "ignore"] };
      run.child = spawn(BINARY, ["hook", "opencode", moment, ...words], options);
    } catch (error) {
      return fail(error.message);
    }
    const { child } = run;
    const chunks = [];
    let kept = 0;
    child.stdout?.on("data", (chunk) => {
      if (kept < CAP_BYTES) chunks.push(chunk.subarray(0, CAP_BYTES - kept));
      kept += chunk.length;
    });
    child.stdout?.on("error", () => {});
    child.stdin?.on("error", () => {});
    let drain;
    const settle = (code, signal) => {
      clearTimeout(drain);
      if (run.hasEnded) return;
      child.stdout?.destroy();
      // A character that the cap has cut is left out.
      const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(chunks), { stream: true });
      finish(() => (code === 0 ? resolve({ text }) : fail(signal ? `ended by ${signal}` : `exit code ${code}`)));
    };
    child.on("error", (error) => {
      // Of a signal that could not be sent, it still runs.
      if (child.pid === undefined) finish(() => fail(error.message));
    });
    child.on("exit", (code, signal) => (drain = after(DRAIN_MS, () => settle(code, signal), isHeld)));
    child.on("close", settle);
    run.timer = after(bound, () => (fail(`no answer after ${bound} ms`), stop(run)), isHeld);
    if (child.pid === undefined) return;
    shared.runs.add(run);
    if (!isHeld) {
      child.unref();
      child.stdin.unref?.();
      child.stdout.unref?.();
    }
    child.stdin.end(JSON.stringify(payload));
  });
}

/** Ends a run, and waits for its end for as long as that takes: its own processes are the binary's concern. */
async function stop(run, isHeld = false) {
  for (const signal of ["SIGTERM", "SIGKILL"]) {
    if (run.hasEnded) return;
    run.child.kill(signal);
    await within(GRACE_MS, run.ended, isHeld);
  }
}

const isBlank = (text) => !text || text.trim() === "";

/** `opencode run`, which ends at the first idle: a prompt then would stay without an answer. */
function isHeadless(argv) {
  const words = argv.slice(2);
  // The only option in front of a command whose value is a word of its own.
  const isWord = (word, at) => !word.startsWith("-") && words[at - 1] !== "--log-level";
  return ["run", "github"].includes(words.find(isWord));
}

/** An id that sorts behind those of the parts: the model gets them in that order. */
function idBehind(parts) {
  const last = parts.map((part) => String(part.id)).sort().at(-1);
  return last?.startsWith("prt") ? `${last}0` : undefined;
}

/** Why the guard's answer keeps the tool from running; `undefined` where it does not. */
function objection({ text, failure }) {
  const unanswered = (why) =>
    GUARDED
      ? `dogwatch guard did not answer (${why}); this is not a policy decision. ` +
        `To go on without it, a person removes ${decodeURI(new URL(import.meta.url).pathname)}.`
      : undefined;
  if (failure) return unanswered(failure);
  if (isBlank(text)) return undefined;
  try {
    const verdict = JSON.parse(text);
    if (verdict.block === true) return isBlank(verdict.reason) ? "dogwatch blocks this" : verdict.reason;
  } catch {
    // Told below: it is no answer of ours.
  }
  return unanswered("before-tool: unreadable answer");
}

export const Dogwatch = async ({ client, directory, worktree }) => {
  const owner = { isDisposed: false };
  const headless = isHeadless(process.argv);

  /** The payload's part that is the same for every moment. */
  function payload(session, name, more) {
    const agent = session.isSubAgent ? { agent_id: session.id } : {};
    const common = { session_id: session.id, cwd: directory, worktree, version: session.version };
    return { ...(name && { hook_event_name: name }), ...common, ...agent, ...more };
  }

  function learn(session, info) {
    if (info?.version) session.version = info.version;
    if (info?.parentID) session.isSubAgent = true;
    if (info?.agent && !session.chosen) {
      const { id: modelID, providerID, variant } = info.model ?? {};
      const model = modelID && { providerID, modelID, ...(variant !== "default" && { variant }) };
      session.chosen = { agent: info.agent, ...(model && { model }) };
    }
  }

  async function moment(name, session, body, options) {
    if (owner.isDisposed) return { failure: `${name}: disposed` };
    if (!session.isSubAgent) session.owner = owner;
    const answer = await ask(name, body, { owner, ...options });
    if (answer.failure && !owner.isDisposed) log(answer.failure);
    return answer;
  }

  /** One line in OpenCode's log, once: stdout and stderr belong to its screen. */
  function log(message) {
    if (shared.hasLogged) return;
    shared.hasLogged = true;
    const body = { service: "dogwatch", level: "warn", message: `dogwatch does not answer: ${message}` };
    Promise.resolve()
      .then(() => client.app.log({ body }))
      .catch(() => {});
  }

  /** Sends a text to the session; whether OpenCode took it. Without the agent, it would leave the one that was chosen. */
  async function send(session, text, { isHidden = false, ...more }) {
    if (owner.isDisposed) return false;
    const part = { type: "text", text, ...(isHidden && { synthetic: true }) };
    const { agent, model } = session.chosen ?? {};
    const as = agent && { agent, model: model && { providerID: model.providerID, modelID: model.modelID } };
    const body = { ...as, ...(model?.variant && { variant: model.variant }), ...more, parts: [part] };
    session.sent.add(text);
    try {
      const result = await client.session.promptAsync({ path: { id: session.id }, body });
      return !result?.error;
    } catch {
      return false;
    }
  }

  /**
   * Asks for the text of a session open, and puts it where the next request finds it. It starts no turn of its own, and
   * OpenCode makes no title of it.
   */
  async function open(session, name, source, event) {
    const body = payload(session, name, { source, event_id: event.id });
    const { text } = await moment("session-open", session, body, { isHeld: false, words: ["--limit", "60s"] });
    if (isBlank(text)) return;
    await within(PROMPT_WAIT_MS, session.prompted, false);
    await send(session, text, { isHidden: true, noReply: true });
  }

  /** The session's turn has ended: the one question, and at most one prompt until the next turn begins. */
  async function idle(session, event) {
    // After an interruption, or an error, nobody wants another turn.
    if (headless || session.isSubAgent || session.isAsked || session.hasFailed) return;
    session.isAsked = true;
    const { text } = await moment("stop", session, payload(session, event.type, { event_id: event.id }), { isHeld: false });
    const isSent = !isBlank(text) && (await send(session, text, {}));
    if (!isSent) session.isAsked = false;
  }

  function end(session, reason, options) {
    // Told by the command line alone: it is the end whatever it is called.
    return ask("end", payload(session, undefined, { reason }), { owner, ...options });
  }

  const onEvent = {
    async "session.created"(session, event) {
      if (session.isSubAgent || session.opening) return;
      session.prompted = new Promise((resolve) => (session.isPrompted = resolve));
      session.opening = open(session, event.type, "startup", event);
      await session.opening;
    },
    async "session.compacted"(session, event) {
      if (!session.isSubAgent) await open(session, event.type, "compact", event);
    },
    "session.idle": idle,
    async "session.error"(session) {
      session.hasFailed = true;
    },
    async "session.status"(session, event) {
      if (event.properties.status?.type === "busy") session.hasFailed = false;
    },
    async "session.deleted"(session) {
      shared.sessions.delete(session.id);
      if (session.owner) await end(session, "deleted", { isHeld: false });
    },
  };

  return {
    event: async ({ event }) => {
      const { info, sessionID } = event?.properties ?? {};
      const id = sessionID ?? info?.id;
      if (!event?.type?.startsWith("session.") || !id || owner.isDisposed) return;
      if (event.id && !claim(event.id)) return;
      const session = sessionOf(id);
      learn(session, info);
      try {
        await onEvent[event.type]?.(session, event);
      } catch (error) {
        log(`${event.type}: ${error?.message}`);
      }
    },

    "chat.message": async ({ sessionID }, output) => {
      if (!claimOutput(output)) return;
      const { message, parts } = output;
      const session = sessionOf(sessionID);
      if (!session.sent.delete(parts[0]?.text)) {
        const { agent, model } = message;
        session.chosen = { agent, model };
      } else if (session.chosen) {
        // It was on its way before the agent was known.
        Object.assign(message, session.chosen);
      }
      // What is said for OpenCode or a plugin is nobody's prompt.
      if (parts.every((part) => part.synthetic)) return;
      session.isAsked = false;
      session.isPrompted?.();
      await within(OPEN_WAIT_MS, session.opening, true);
      // One that hangs holds up one prompt.
      session.opening &&= Promise.resolve();
      const spoken = parts.filter((part) => part.type === "text" && !part.synthetic);
      const prompt = spoken.map((part) => part.text).join("\n");
      const body = payload(session, "chat.message", { prompt, event_id: message.id });
      const { text } = await moment("prompt", session, body);
      const partId = idBehind(parts);
      if (isBlank(text) || !partId) return;
      parts.push({ id: partId, sessionID, messageID: message.id, type: "text", text, synthetic: true });
    },

    "tool.execute.before": async (input, output) => {
      if (!claimOutput(output)) return;
      const session = sessionOf(input.sessionID);
      const tool = { tool_name: input.tool, tool_input: output.args, tool_use_id: input.callID };
      const why = objection(await moment("before-tool", session, payload(session, "tool.execute.before", tool)));
      if (why) throw new Error(why);
    },

    "tool.execute.after": async (input, output) => {
      if (!claimOutput(output)) return;
      const session = sessionOf(input.sessionID);
      const tool = { tool_name: input.tool, tool_input: input.args, tool_use_id: input.callID };
      await moment("after-tool", session, payload(session, "tool.execute.after", tool));
    },

    "experimental.session.compacting": async ({ sessionID }, output) => {
      if (!claimOutput(output)) return;
      const session = sessionOf(sessionID);
      await moment("before-compact", session, payload(session, "experimental.session.compacting"));
    },

    dispose: async () => {
      owner.isDisposed = true;
      const until = performance.now() + DISPOSE_MS;
      const running = [...shared.runs].filter((run) => run.owner === owner);
      await within(DISPOSE_MS, Promise.all(running.map((run) => stop(run, true))), true);
      const seen = [...shared.sessions.values()].filter((session) => session.owner === owner);
      const bound = Math.max(until - performance.now(), 1);
      await Promise.all(seen.map((session) => end(session, "dispose", { bound })));
    },
  };
};
