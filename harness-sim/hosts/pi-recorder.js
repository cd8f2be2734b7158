// harness-sim: keeps what Pi hands to an extension. Written by `harness-sim record` into a copy of a home.
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const RAW = "<RAW>";
const EVENTS = (
  "after_provider_response agent_before_settle agent_end agent_settled agent_start before_agent_start " +
  "before_provider_request context input message_end message_start resources_discover session_before_compact " +
  "session_before_fork session_before_switch session_before_tree session_compact session_compact_failed " +
  "session_info_changed session_shutdown session_start session_tree tool_call tool_execution_end tool_execution_start " +
  "tool_result turn_end turn_start"
).split(" ");
let count = 0;

export default function (pi) {
  for (const event of EVENTS) {
    try {
      pi.on(event, (given, context) => keep(event, { event: plain(given), ctx_observed: observed(context) }));
    } catch {
      // An event that this version does not have.
    }
  }
}

function observed(context) {
  const manager = attempt(() => context.sessionManager);
  const header = attempt(() => manager.getHeader());
  return {
    keys: attempt(() => Object.keys(context)) ?? [],
    mode: attempt(() => context.mode),
    hasUI: attempt(() => context.hasUI),
    cwd: attempt(() => context.cwd),
    idle: attempt(() => context.isIdle()),
    trusted: attempt(() => context.isProjectTrusted()),
    sessionId: attempt(() => manager.getSessionId()),
    sessionFile: attempt(() => manager.getSessionFile()),
    leaf: attempt(() => manager.getLeafId()),
    entries: attempt(() => manager.getEntries().length),
    header: header && plain(header),
    model: attempt(() => `${context.model.provider}/${context.model.id}`),
    signal: attempt(() => (context.signal ? "present" : "absent")),
    usage: attempt(() => plain(context.getContextUsage())),
    pending: attempt(() => context.hasPendingMessages()),
  };
}

// What can be written down of a value: no functions, no circles, no end of depth.
function plain(value, depth = 0, seen = new Set()) {
  if (value === null || typeof value !== "object") return typeof value === "function" ? undefined : value;
  if (depth > 8 || seen.has(value)) return "<left out>";
  if (value instanceof AbortSignal) return "<AbortSignal>";
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
