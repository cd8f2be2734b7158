//! What is wrong with how a hook took it.

use super::cases::{Case, Must};
use crate::launch::Exit;
use crate::report::{Effect, Firing, Kind, duration};

/// Signals of a program that broke, by their names.
const CRASHES: &[&str] = &["SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP"];
/// The exit code of a Rust program that panicked, and what it says then.
const PANIC: (i32, &[u8]) = (101, b"panicked at");

/// Everything that is wrong, each as a sentence that names the event.
pub(super) fn wrong(case: &Case, firing: &Firing, gates_a_tool: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut printed = 0;
    for run in &firing.commands {
        printed += run.stdout_bytes + run.stderr_bytes;
        if let Exit::NotStarted { why } = &run.exit {
            wrong.push(format!("did not start: {why}"));
            continue;
        }
        if run.timed_out {
            wrong.push(format!("did not end within {}", duration(run.deadline)));
        }
        if crashed(&run.exit, &run.stderr) {
            wrong.push(crate::harness::with_stderr("crashed".to_owned(), &run.stderr));
        }
        // Who is killed may leave some of its processes behind for a moment; who stays is a survivor.
        if case.must == Must::BeTaken && !run.holders.is_empty() && !run.timed_out {
            let who: Vec<String> =
                run.holders.iter().map(|holder| format!("{} (pid {})", holder.name, holder.pid)).collect();
            wrong.push(format!("its stdout stays open after its end: {}", who.join(", ")));
        }
    }
    for survivor in firing.leaks() {
        wrong.push(format!("left behind: {} (pid {})", survivor.command_line, survivor.pid));
    }
    if case.must == Must::BeTaken {
        let answers = firing.effects.iter().filter_map(|effect| refused(effect, gates_a_tool, printed > 0));
        for why in answers {
            // A deadline that ran out is a failure for the harness, too, and said once.
            if !firing.commands.iter().any(|run| run.timed_out) {
                wrong.push(why);
            }
        }
    }
    wrong.iter().map(|why| format!("{}: {why}", firing.recording)).collect()
}

/// Where a hook has done something else at the same event.
pub(super) fn different(before: &[Firing], after: &[Firing]) -> Vec<String> {
    let done = |firing: &Firing| {
        let exits = firing.commands.iter().map(|run| match &run.exit {
            Exit::Code { code } => format!("exit {code}"),
            Exit::Signal { name, .. } => name.clone(),
            Exit::NotStarted { .. } => "not started".to_owned(),
        });
        let mut kinds: Vec<&str> = firing.effects.iter().map(|effect| effect.kind.name()).collect();
        kinds.sort_unstable();
        exits.chain(kinds.into_iter().map(str::to_owned)).collect::<Vec<_>>().join(", ")
    };
    before
        .iter()
        .zip(after)
        .map(|(before, after)| (&after.recording, done(before), done(after)))
        .filter(|(_, before, after)| before != after)
        .map(|(recording, before, after)| format!("{recording}: {after}; and before: {before}"))
        .collect()
}

/// What is wrong with an effect.
fn refused(effect: &Effect, gates_a_tool: bool, has_spoken: bool) -> Option<String> {
    let why = effect.why.as_deref().unwrap_or_default();
    match effect.kind {
        Kind::Failed => Some(format!("the harness does not take its answer: {why}")),
        Kind::Denied | Kind::Asked if gates_a_tool && has_spoken && !why.is_empty() => None,
        Kind::StopRefused if has_spoken && !why.is_empty() => None,
        Kind::Denied | Kind::Asked | Kind::StopRefused if why.is_empty() || !has_spoken => {
            Some(format!("blocks without a word of its own ({})", effect.kind.name()))
        }
        Kind::Denied | Kind::Asked => Some(format!("blocks what it was not asked about: {why}")),
        _ => None,
    }
}

fn crashed(exit: &Exit, stderr: &[u8]) -> bool {
    match exit {
        Exit::Signal { name, .. } => CRASHES.contains(&name.as_str()),
        Exit::Code { code } => *code == PANIC.0 && stderr.windows(PANIC.1.len()).any(|part| part == PANIC.1),
        Exit::NotStarted { .. } => false,
    }
}
