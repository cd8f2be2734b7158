//! Facts about the CLIs themselves, measured with plain hooks and without dogwatch. They are told in `docs/harnesses/`; an
//! upgrade that changes one shows here.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use live_e2e::model::Request;
use live_e2e::{Agent, Desk, Exit, How, Opens};
use serde_json::{Value, json};

use crate::Test;
use crate::case::{Case, run, told};
use crate::conversation::Conversation;

const CLAUDE: &[Agent] = &[Agent::Claude];
/// Those that run commands as hooks.
const COMMANDS: &[Agent] = &[Agent::Claude, Agent::Codex, Agent::Grok];

pub(crate) const TESTS: &[Test] = &[
    ("fact_a_hook_that_asks_denies_in_every_mode_without_a_terminal", CLAUDE, ask_headless),
    ("fact_a_hook_that_asks_is_put_to_the_person_in_every_mode", CLAUDE, ask_in_a_terminal),
    ("fact_a_prompt_that_is_blocked_never_reaches_the_model", COMMANDS, block),
    ("fact_a_person_is_told_why_a_prompt_was_blocked", COMMANDS, block_in_a_terminal),
    ("fact_a_hook_that_is_stopped_at_its_timeout_holds_nothing_up", COMMANDS, timeout),
    ("fact_a_hook_that_ignores_term_is_gone_all_the_same", CLAUDE, stubborn),
    ("fact_a_handler_that_never_answers_is_waited_for", &[Agent::Pi, Agent::OpenCode], never_answers),
];

/// A desk with a shell script as the one hook of an event, in the person's own file.
fn desk(case: &Case, event: &str, script: &str, timeout: u32) -> Desk {
    let desk = case.bare_desk();
    let program = desk.home().join("hook.sh");
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let handler = json!({"type": "command", "command": program, "timeout": timeout});
    let mut settings = json!({"hooks": {event: [{"hooks": [handler]}]}});
    let file = match case.agent {
        Agent::Claude => ".claude/settings.json",
        Agent::Codex => ".codex/hooks.json",
        _ => ".grok/hooks/plain.json",
    };
    if case.agent == Agent::Claude {
        // A question of its own, before anything else.
        settings["skipDangerousModePermissionPrompt"] = true.into();
    }
    let file = desk.home().join(file);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, settings.to_string()).unwrap();
    desk
}

/// The file that a tool makes where it runs.
fn trail(desk: &Desk) -> PathBuf {
    desk.home().join("ran")
}

/// A prompt by which the model has a tool make it.
fn a_tool(desk: &Desk) -> String {
    format!("go {} @@say bye@@", desk.shell(&format!("touch {}; echo ran-it", trail(desk).display())))
}

/// What the model was told of its tools.
fn results(desk: &Desk) -> Vec<String> {
    let turns = desk.model.requests().into_iter().filter(Request::offers_tools);
    turns.flat_map(|turn| turn.tool_results()).collect()
}

/// What it is called on the command line, and in the payload.
const MODES: [(&str, &str); 7] = [
    ("default", "default"),
    ("manual", "default"),
    ("acceptEdits", "acceptEdits"),
    ("plan", "plan"),
    ("auto", "auto"),
    ("dontAsk", "dontAsk"),
    ("bypassPermissions", "bypassPermissions"),
];
const ASK: &str = r#"cat > ~/payload.json; echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"the hook asks"}}'"#;

fn assert_mode(desk: &Desk, mode: &str) {
    let payload: Value =
        serde_json::from_slice(&fs::read(desk.home().join("payload.json")).unwrap()).unwrap();
    assert_eq!(payload["permission_mode"], mode);
}

fn ask_headless(case: &Case) {
    for (mode, told_as) in MODES {
        let desk = desk(case, "PreToolUse", ASK, 20);
        let (ran, _) = run(&desk, &a_tool(&desk), &How::default().arguments(["--permission-mode", mode]));
        assert_mode(&desk, told_as);
        assert!(!trail(&desk).exists(), "{mode}: the tool ran");
        assert_eq!(results(&desk), ["the hook asks"], "{mode}");
        assert_eq!(ran.stdout, "bye\n", "{mode}: nobody but the model is told");
    }
}

fn ask_in_a_terminal(case: &Case) {
    for (mode, told_as) in MODES {
        let desk = desk(case, "PreToolUse", ASK, 20);
        let how = How::default().arguments(["--permission-mode", mode]);
        let mut talk = Conversation::begin(case.agent, &desk, how);
        let is_asked = |drawn: &str| drawn.contains("thehookasks") && drawn.contains("1.Yes");
        talk.say_until(&a_tool(&desk), |drawn| is_asked(drawn) || !results(&desk).is_empty());
        assert_mode(&desk, told_as);
        assert!(!trail(&desk).exists() && results(&desk).is_empty(), "{mode}: {:?}", results(&desk));
        // The first answer is a yes.
        let has_run = talk.press_until("\r", || !results(&desk).is_empty());
        assert!(has_run, "{mode}: the tool gave nothing");
        assert!(trail(&desk).exists(), "{mode}: {:?}", results(&desk));
        talk.leave();
    }
}

/// Two ways to block a prompt that holds a word.
const BLOCKS: [&str; 2] = [
    "case $(cat) in *forbidden*) echo the reason why >&2; exit 2;; esac",
    r#"case $(cat) in *forbidden*) echo '{"decision":"block","reason":"the reason why"}';; esac"#,
];

fn block(case: &Case) {
    for script in BLOCKS {
        let desk = desk(case, "UserPromptSubmit", script, 20);
        let ran = desk.run("a forbidden word @@say bye@@", &How::default()).unwrap();
        let told = told(&desk, &ran);
        assert_eq!(ran.exit, Exit::Code(0), "no failure: {told}");
        assert!(desk.model.turns().is_empty(), "{told}");
        match case.agent {
            Agent::Claude => {
                assert!(ran.stdout.starts_with("UserPromptSubmit operation blocked by hook:\n"), "{told}");
                assert!(ran.stdout.contains("the reason why"), "{told}");
                assert!(ran.stdout.contains("Original prompt: a forbidden word"), "{told}");
            }
            Agent::Codex => {
                assert_eq!(ran.stdout, "", "{told}");
                assert!(ran.stderr.contains("hook: UserPromptSubmit Blocked"), "{told}");
                assert!(!ran.stderr.contains("the reason why"), "{told}");
            }
            _ => assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("\n", ""), "nothing is said"),
        }
        // Nor does a later one bring it: the session goes on without it.
        let (_, turns) = run(&desk, "a good word @@say bye@@", &How::opening(Opens::Continued));
        let later = turns.last().unwrap().context();
        assert!(later.contains("a good word"), "{later}");
        assert!(!later.contains("forbidden") && !later.contains("the reason why"), "{later}");
    }
}

fn block_in_a_terminal(case: &Case) {
    for script in BLOCKS {
        let desk = desk(case, "UserPromptSubmit", script, 20);
        let mut talk = Conversation::begin(case.agent, &desk, How::default());
        let shown: &[&str] = match case.agent {
            Agent::Claude => &["operationblockedbyhook:", "thereasonwhy", "Originalprompt:aforbiddenword"],
            Agent::Codex => &["Blockedbyhook", "thereasonwhy"],
            // It keeps the prompt, and asks what is to become of it.
            _ => &["Promptblockedby", "thereasonwhy", "Fixyourprompt", "Senditunchanged", "Discard"],
        };
        let is_shown = |drawn: &str| shown.iter().all(|words| drawn.contains(words));
        talk.say_until("a forbidden word", is_shown);
        let turns: Vec<Request> =
            desk.model.requests().into_iter().filter(|turn| turn.context().contains("forbidden")).collect();
        assert!(turns.is_empty(), "{turns:?}");
        talk.leave();
    }
}

/// A hook that works for an hour, with a child in its group and one in a session of its own.
fn slow(desk: &Desk, first: &str) -> String {
    let log = desk.home().join("log");
    format!(
        "{first}\nsleep 3601 < /dev/null > /dev/null 2>&1 &\nsetsid sleep 3602 < /dev/null > /dev/null 2>&1 &\n\
         echo words of the hook\necho begun >> {log}\nsleep 3603 & wait\necho over >> {log}",
        log = log.display()
    )
}

/// A run beside that hook: the notes of the hook, and who is left of it.
fn beside_a_slow_hook(case: &Case, event: &str, first: &str) -> (Vec<String>, Vec<String>) {
    let desk = desk(case, event, "", 3);
    fs::write(desk.home().join("hook.sh"), format!("#!/bin/sh\n{}\n", slow(&desk, first))).unwrap();
    let ran = desk.run(&a_tool(&desk), &How::default()).unwrap();
    let told = told(&desk, &ran);
    assert_eq!(ran.exit, Exit::Code(0), "{event}: {told}");
    assert!(ran.stdout.contains("bye"), "{event}: the session goes on: {told}");
    assert!(trail(&desk).exists(), "{event}: the tool runs: {told}");
    assert!(results(&desk).iter().all(|result| result.contains("ran-it")), "{event}: {:?}", results(&desk));
    let is_told = |turn: &Request| turn.context().contains("words of the hook");
    assert!(!desk.model.turns().iter().any(is_told), "{event}: what it printed is dropped");
    let notes = fs::read_to_string(desk.home().join("log")).unwrap();
    let mut left: Vec<String> = ran.survivors.into_iter().map(|survivor| survivor.command).collect();
    left.sort();
    left.dedup();
    (notes.lines().map(str::to_owned).collect(), left)
}

fn timeout(case: &Case) {
    // Whoever is told of the end by TERM notes it.
    let noting = "trap 'echo term >> ~/log; exit 0' TERM";
    for event in ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"] {
        let (notes, left) = beside_a_slow_hook(case, event, noting);
        let twice = case.agent == Agent::Grok && event == "Stop";
        let expected: (&[&str], &[&str]) = match case.agent {
            // The whole tree, by TERM.
            Agent::Claude => (&["begun", "term"], &[]),
            // The process group, by KILL; Grok fires this event once more at its end.
            _ if twice => (&["begun", "begun"], &["sleep 3602"]),
            _ => (&["begun"], &["sleep 3602"]),
        };
        assert_eq!(notes, expected.0, "{event}");
        assert_eq!(left, expected.1, "{event}");
    }
}

fn stubborn(case: &Case) {
    let (notes, left) = beside_a_slow_hook(case, "PreToolUse", "trap '' TERM");
    assert_eq!(notes, ["begun"]);
    assert!(left.is_empty(), "{left:?}");
}

fn never_answers(case: &Case) {
    let note = "writeFileSync(`${process.env.HOME}/begun`, ''); return new Promise(() => {HOLD});";
    let (folder, module) = match case.agent {
        Agent::Pi => (
            ".pi/agent/extensions",
            format!("export default (pi) => pi.on('tool_call', () => {{ {note} }});"),
        ),
        _ => (
            ".config/opencode/plugins",
            format!("export const Plain = async () => ({{ 'tool.execute.before': () => {{ {note} }} }});"),
        ),
    };
    let holds: &[&str] = if case.agent == Agent::Pi { &["", "setInterval(() => {}, 1000)"] } else { &[""] };
    for hold in holds {
        let desk = case.bare_desk();
        let folder = desk.home().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let module = module.replace("HOLD", hold);
        fs::write(folder.join("plain.js"), format!("import {{ writeFileSync }} from 'node:fs';\n{module}\n"))
            .unwrap();
        let ran =
            desk.run(&a_tool(&desk), &How { deadline: Duration::from_secs(30), ..How::default() }).unwrap();
        let told = told(&desk, &ran);
        assert!(desk.home().join("begun").exists(), "{told}");
        assert!(!trail(&desk).exists(), "the tool does not run: {told}");
        // Where nothing else holds the process, Pi's has nothing left to do, and ends as if all were well.
        let is_left = case.agent == Agent::Pi && hold.is_empty();
        let exit = if is_left { Exit::Code(0) } else { Exit::Deadline };
        assert_eq!((ran.exit, ran.stdout.as_str()), (exit, ""), "{told}");
    }
}
