// dogwatch: Pi extension. Written by `dogwatch install`; edits are lost, `dogwatch uninstall` removes it.
const BINARY = "dogwatch";

// Maps Pi's events to `dogwatch hook pi <moment>`: which start is running, who waits for it, when it is delivered. All
// else is in the binary. Plain JavaScript for Pi 0.73.1 and later, Node's own modules only.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";

// Whether a tool call about which dogwatch did not answer is denied. Not as long as the guard is not built.
const GUARDED = false;
// Bounds of our own: Pi has none. A session open's is above the limit that the binary is told.
const OPEN_LIMIT = "180s";
const OPEN_BOUND_MS = 190_000;
const CALL_BOUND_MS = 10_000;
const END_BOUND_MS = 2_000;
// Between TERM and KILL, and once more for the end after KILL.
const GRACE_MS = 1_000;
// How long a pipe that somebody else holds may keep the answer of a process that has ended.
const DRAIN_MS = 1_000;
const SHUTDOWN_MS = 3_800;
const RETAINED_BYTES = 512 * 1024;
// How an operational message begins. Such a message is never the person's.
const MARKER = "\u2063";
const PROVENANCE = `${MARKER}DOGWATCH_OP: v1 session-start: `;
const OPEN_COMMAND = `${shellWord(BINARY)} open`;
const INSTRUCTION = `${PROVENANCE}Run \`${OPEN_COMMAND}\` now, exactly once, before executing any other instructions.`;
// The starts whose empty digest means that something is wrong.
const OWED = new Set(["startup", "new", "clear", "compact"]);
// Flags of Pi that take the next argument for their value, whatever it looks like.
const WITH_VALUE = new Set(
  ("--provider --model --api-key --system-prompt --append-system-prompt --name -n --session --session-id --fork " +
    "--session-dir --models --tools -t --exclude-tools -xt --thinking --export --extension -e --skill " +
    "--prompt-template --theme").split(" "),
);
const PI_VERSION = piVersion();

// One for the process, whatever is loaded into it: a copy for the person and one for the project, and each anew after
// /reload. Other versions of this file use it as well, so its shape stays.
const registry = (globalThis[Symbol.for("dogwatch.pi")] ??= makeRegistry());

export default function (pi) {
  // `owner` of the registry while this is the copy that acts, in the session that is running.
  const self = { context: null, session: undefined, isLive: () => attempt(() => self.context.cwd) !== undefined };
  const acts = () => registry.owner === self;
  let settles = false;
  let isFollowUp = false;

  // What Pi awaits holds the process; nothing else of ours does. A context that is read after an await may be stale and
  // throw, so handlers read it before.
  const on = (name, handler, whenFailed) =>
    pi.on(name, (event, context) => {
      if (name === "session_start") claim(context);
      if (!acts()) return undefined;
      try {
        const answer = handler(event, context);
        return answer && held(answer.catch((error) => whenFailed?.(error)));
      } catch (error) {
        return whenFailed?.(error);
      }
    });

  // The other copy of this file in the same session may have it. A session that is alive but not this one is of no account:
  // Pi does not end it where two replacements overlap.
  const claim = (context) => {
    const session = attempt(() => context.sessionManager.getSessionId());
    if (!acts() && registry.owner?.isLive() && registry.owner.session === session) return;
    registry.owner = self;
    self.context = context;
    self.session = session;
  };

  const send = (text, options) => {
    // Void in Pi; should it become a promise, its failure is no crash.
    const sent = attempt(() => pi.sendMessage(message(text), options));
    sent?.catch?.(() => {});
  };

  on("session_start", (event, context) => {
    // The session that is reloaded goes on, and so does a start of it that has not been delivered.
    if (event.reason === "reload") return;
    const source = event.reason === "startup" ? startupSource(context) : event.reason;
    begin(source, payload(event, context, { source }));
  });

  on("before_agent_start", async (event, context) => {
    // A run that an extension's message started has no prompt of a person; one that has is no follow-up.
    const asked = event.messageType === "custom" ? null : payload(event, context, { prompt: event.prompt });
    if (asked) isFollowUp = false;
    const generation = await settled();
    const added = asked && acts() ? textOf(await ask("prompt", asked)) : "";
    // A start that is not delivered here is still to be delivered.
    const content = acts() ? [take(generation), added].filter((text) => text !== "").join("\n\n") : "";
    return content === "" ? undefined : { message: message(content) };
  });

  on(
    "tool_call",
    async (event, context) => verdict(await ask("before-tool", payload(event, context, tool(event)))),
    unanswered,
  );

  on("tool_result", async (event, context) => {
    await ask("after-tool", payload(event, context, { ...tool(event), is_error: event.isError === true }));
  });

  on("session_before_compact", async (event, context) => {
    const said = payload(event, context, { reason: event.reason });
    // The summary is a request to the model. A person may give it up, and Pi then waits for us.
    await Promise.race([settled(), aborted(event.signal)]);
    if (acts() && !event.signal?.aborted) await ask("before-compact", said);
  });

  on("session_compact", async (event, context) => {
    const options = afterCompaction(event, context);
    begin("compact", payload(event, context, { source: "compact" }));
    const generation = await settled();
    const text = acts() ? take(generation) : "";
    if (text !== "") send(text, options);
  });

  const stop = async (event, context) => {
    // The end of a run that a stop's answer has started is told, and starts no further one: whatever is answered, no
    // session goes round in circles.
    const wasFollowedUp = isFollowUp;
    isFollowUp = false;
    const text = textOf(await ask("stop", payload(event, context, { stop_hook_active: wasFollowedUp })));
    if (text === "" || wasFollowedUp || !acts()) return;
    isFollowUp = true;
    send(text, { triggerTurn: true, deliverAs: "followUp" });
  };

  // Whom the person has stopped is not sent on.
  on("agent_settled", (event, context) => {
    settles = true;
    return event.aborted === true ? undefined : stop(event, context);
  });

  on("agent_end", (event, context) => {
    if (settles || hasSettled(context)) return undefined;
    const reason = event.messages?.at?.(-1)?.stopReason;
    return reason === "aborted" || reason === "error" ? undefined : stop(event, context);
  });

  on("session_shutdown", async (event, context) => {
    const said = payload(event, context, { reason: event.reason });
    registry.owner = null;
    // A reload ends no session.
    const isReload = event.reason === "reload";
    const until = performance.now() + SHUTDOWN_MS;
    const end = async () => {
      const ending = registry.generation;
      const stopped = isReload ? undefined : ending?.stop();
      // Before 0.80.4 Pi quits beside `agent_end`: what has been asked may still be answered.
      const calls = [...registry.runs].filter((run) => run !== ending?.run);
      await within(Promise.all(calls.map((run) => run.ended)), GRACE_MS);
      await Promise.all([stopped, ...calls.map((run) => run.stop())]);
      if (isReload) return;
      // Where two replacements overlap, the next session's may be there already.
      if (registry.generation === ending) registry.generation = null;
      // With time to end it, too.
      await ask("end", said, Math.min(END_BOUND_MS, until - performance.now() - GRACE_MS));
    };
    await within(end(), SHUTDOWN_MS);
  });
}

// Starts

// A new generation: it owns the session from here on; the one before is stopped completely before it starts.
function begin(source, said) {
  const previous = registry.generation;
  const generation = { isReplaced: false, isTaken: false, run: null, text: "", outcome: null, stop: null };
  generation.stop = async () => {
    generation.isReplaced = true;
    await generation.run?.stop();
    await generation.outcome;
  };
  registry.generation = generation;
  const stopped = previous?.stop();
  generation.outcome = (async () => {
    await stopped;
    if (generation.isReplaced) return;
    generation.run = start(["session-open", "--prerequisite", "--limit", OPEN_LIMIT], said, OPEN_BOUND_MS);
    generation.text = delivery(await generation.run.ended, source);
  })();
}

// The generation that owns the session, once its result is there.
async function settled() {
  for (;;) {
    const generation = registry.generation;
    await generation?.outcome;
    if (registry.generation === generation) return generation;
  }
}

// Its text, once.
function take(generation) {
  if (!generation || generation !== registry.generation || generation.isTaken) return "";
  generation.isTaken = true;
  return generation.text;
}

// What a session open's end means for the model.
function delivery(end, source) {
  // Never beside a digest that may still be running.
  if (!end.hasEnded || (end.code === 3 && !end.isStopped)) return "";
  if (end.isStopped || end.code !== 0) return INSTRUCTION;
  const text = textOf(end);
  if (text === "") return OWED.has(source) ? INSTRUCTION : "";
  const marked = text.startsWith(MARKER) ? text : PROVENANCE + text;
  if (end.missing === 0) return marked;
  return (
    `${marked}\nPI SESSION-START DELIVERY TRUNCATED: ${end.missing} bytes are missing from here on; the whole text is the ` +
    `newest file in .dogwatch/state/digest/, or run \`${OPEN_COMMAND}\`.`
  );
}

// Where a request follows without a prompt (in the middle of a run, before a retry, with messages queued) the message
// steers it; elsewhere steering would start a request of its own. At its end print mode prints the last message if that
// is an answer: behind an answer the message waits for the next prompt there, if one comes.
function afterCompaction(event, context) {
  const isRunning = attempt(() => context.signal) != null || attempt(() => context.hasPendingMessages()) === true;
  if (event.willRetry === true || isRunning) return {};
  // Before 1.0 no reason is told, and print mode does not wait for a compaction.
  const mayPrint = ["threshold", "overflow"].includes(event.reason) && attempt(() => context.hasUI) === false;
  return mayPrint ? { deliverAs: "nextTurn" } : { triggerTurn: false };
}

// Pi calls every start of a process `startup`. A name, a model and the like are no sign of another.
function startupSource(context) {
  const flags = ownFlags(process.argv.slice(2));
  if (flags.has("--fork")) return "fork";
  const resumes = ["--continue", "-c", "--resume", "-r", "--session", "--session-id"].some((flag) => flags.has(flag));
  const created = Date.parse(attempt(() => context.sessionManager.getHeader().timestamp));
  return resumes && created < performance.timeOrigin ? "resume" : "startup";
}

function ownFlags(words) {
  const flags = new Set();
  for (let at = 0; at < words.length && words[at] !== "--"; at += 1) {
    flags.add(words[at].startsWith("--") ? words[at].split("=", 1)[0] : words[at]);
    if (WITH_VALUE.has(words[at])) at += 1;
  }
  return flags;
}

// Calls

function payload(event, context, more) {
  return {
    hook_event_name: event.type,
    session_id: attempt(() => context.sessionManager.getSessionId()),
    cwd: attempt(() => context.cwd),
    transcript_path: attempt(() => context.sessionManager.getSessionFile()),
    version: PI_VERSION,
    timestamp: new Date().toISOString(),
    // Two events that look alike are two events.
    firing_id: randomUUID(),
    ...more,
  };
}

function tool(event) {
  return { tool_name: event.toolName, tool_input: event.input, tool_use_id: event.toolCallId };
}

function message(content) {
  return { customType: "dogwatch", content, display: false };
}

async function ask(moment, said, boundMs = CALL_BOUND_MS) {
  return start([moment], said, boundMs).ended;
}

// What a call printed; nothing where it failed.
function textOf(end) {
  const text = end.code === 0 && !end.isStopped ? end.text : "";
  return text.trim() === "" ? "" : text.replace(/\n+$/, "");
}

function verdict(end) {
  if (end.code !== 0 || end.isStopped) return unanswered(end.why);
  if (end.text.trim() === "") return undefined;
  const answer = attempt(() => JSON.parse(end.text));
  if (answer?.block === true) return { block: true, reason: String(answer.reason ?? "denied by dogwatch") };
  return answer?.block === false ? undefined : unanswered("its answer cannot be read");
}

function unanswered(why) {
  if (!GUARDED) return undefined;
  const reason =
    `dogwatch guard did not answer (${why}); this is not a policy decision. To go on without it, a person runs ` +
    `\`${shellWord(BINARY)} uninstall pi\`.`;
  return { block: true, reason };
}

// Runs the binary. `ended` never fails; `stop` and the bound signal this process and no other: the binary ends its own.
function start(words, said, boundMs) {
  const chunks = [];
  let bytes = 0;
  let stopping = null;
  let finish;
  let exit;
  const exited = new Promise((resolve) => (exit = resolve));
  const run = { child: null, ended: new Promise((resolve) => (finish = resolve)), stop: null };
  const end = (code, why, hasEnded = true) => {
    if (!registry.runs.delete(run)) return;
    clearTimeout(bound);
    const [text, missing] = retained(chunks, bytes);
    finish({ code, why, hasEnded, text, missing, isStopped: stopping !== null });
    // Nobody reads any more, or writes.
    for (const pipe of [run.child?.stdin, run.child?.stdout]) pipe?.destroy();
  };
  run.stop = () => (stopping ??= stopChild(run.child, exited, end));
  const bound = timer(() => run.stop(), Math.max(boundMs, 1));
  registry.runs.add(run);
  try {
    const child = spawn(BINARY, ["hook", "pi", ...words], { stdio: ["pipe", "pipe", "ignore"], windowsHide: true });
    run.child = child;
    for (const handle of [child, child.stdin, child.stdout]) handle?.unref?.();
    // It may end without having read, and a pipe may break: its end tells all that matters.
    for (const pipe of [child.stdin, child.stdout]) pipe?.on("error", () => {});
    child.stdout?.on("data", (chunk) => {
      if (bytes <= RETAINED_BYTES) chunks.push(chunk);
      bytes += chunk.length;
    });
    child.on("error", (error) => {
      // A signal that could not be sent is told here, too.
      if (child.pid !== undefined) return;
      exit();
      end(null, error.message);
    });
    child.on("exit", (code, signal) => {
      exit();
      clearTimeout(bound);
      const why = signal === null ? `exit ${code}` : `ended by ${signal}`;
      child.on("close", () => end(code, why));
      if (stopping !== null) end(code, why);
      else timer(() => end(code, why), DRAIN_MS);
    });
    child.stdin?.end(JSON.stringify(said));
  } catch (error) {
    if (run.child?.pid === undefined) {
      exit();
      end(null, String(error?.message ?? error));
    } else {
      run.stop();
    }
  }
  return run;
}

async function stopChild(child, exited, end) {
  for (const signal of ["SIGTERM", "SIGKILL"]) {
    attempt(() => child.kill(signal));
    if (await within(exited, GRACE_MS)) return;
  }
  end(null, "it cannot be ended", false);
}

// The text of the first bytes, cut where a character ends, and how many are not in it.
function retained(chunks, bytes) {
  const all = Buffer.concat(chunks);
  let length = Math.min(all.length, RETAINED_BYTES);
  for (let step = 0; step < 3 && length < all.length && (all[length] & 0xc0) === 0x80; step += 1) length -= 1;
  return [all.toString("utf8", 0, length), bytes - length];
}

// Waiting

function makeRegistry() {
  const made = { owner: null, generation: null, runs: new Set() };
  // The only listener of the process. Without a shutdown there is no time for more than KILL; the binary's children end
  // with it.
  process.on("exit", () => {
    for (const run of made.runs) attempt(() => run.child.kill("SIGKILL"));
  });
  return made;
}

// Our children, pipes and timers hold no process. While Pi awaits us, this does.
async function held(promise) {
  const hold = setInterval(() => {}, 0x7fffffff);
  try {
    return await promise;
  } finally {
    clearInterval(hold);
  }
}

function aborted(signal) {
  return new Promise((resolve) => {
    if (signal?.aborted) resolve();
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });
}

function timer(callback, milliseconds) {
  const timeout = setTimeout(callback, milliseconds);
  timeout.unref?.();
  return timeout;
}

async function within(promise, milliseconds) {
  let timeout;
  const late = new Promise((resolve) => (timeout = timer(() => resolve(false), milliseconds)));
  const came = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timeout);
  return came;
}

// Pi

// Whether Pi tells of `agent_settled`. It came with 0.80.4; where the version is not known, a context with a mode is of
// about that time.
function hasSettled(context) {
  const [major, minor, patch] = (PI_VERSION ?? "").split(/[.-]/).map(Number);
  if (Number.isNaN(major) || minor === undefined) return attempt(() => context.mode) !== undefined;
  return major > 0 || minor > 80 || (minor === 80 && patch >= 4);
}

function piVersion() {
  let folder = attempt(() => dirname(realpathSync(process.argv[1])));
  for (let level = 0; folder && level < 4; level += 1, folder = dirname(folder)) {
    const found = attempt(() => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
    if (String(found?.name).endsWith("/pi-coding-agent")) return String(found.version);
  }
  return undefined;
}

function shellWord(path) {
  return /^[A-Za-z0-9/._+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''").replaceAll("`", "")}'`;
}

function attempt(action) {
  try {
    return action();
  } catch {
    return undefined;
  }
}
