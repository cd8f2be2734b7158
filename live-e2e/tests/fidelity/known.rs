//! Where the simulator is known to say something else than the real program, and why that stands.

use live_e2e::Agent;

/// Why this row may differ.
pub(crate) fn difference(agent: Agent, name: &str) -> Option<&'static str> {
    let known = KNOWN.iter().find(|(of, row, _)| *of == agent && *row == name);
    known.map(|(_, _, why)| *why)
}

const KNOWN: &[(Agent, &str, &str)] = &[(
    Agent::OpenCode,
    "id_and_server",
    "a module of this form is not played, and the simulator's rules say so",
)];
