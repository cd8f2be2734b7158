//! Which processes are taken for which harness, and which are not.

use std::collections::HashMap;

use rstest::rstest;

use super::*;

/// Processes as a test makes them up.
#[derive(Default)]
struct Fixture {
    processes: HashMap<u32, Process>,
    sessions: HashMap<u32, &'static str>,
}

impl Processes for Fixture {
    fn process(&self, id: u32) -> Option<Process> {
        self.processes.get(&id).cloned()
    }

    fn variable(&self, id: u32, name: &str) -> Option<OsString> {
        assert_eq!(name, CLAUDE_SESSION);
        self.sessions.get(&id).map(OsString::from)
    }
}

impl Fixture {
    /// The chain of ids 100, 101, …, the last of which is the child of process 0. All are in terminal session 7.
    fn chain(processes: &[(&str, &[&str])]) -> Fixture {
        let mut fixture = Fixture::default();
        for (at, (executable, arguments)) in processes.iter().enumerate() {
            let id = 100 + u32::try_from(at).unwrap();
            let parent = if at + 1 == processes.len() { 0 } else { id + 1 };
            let process = Process { parent, session: 7, ..process(executable, arguments) };
            fixture.processes.insert(id, process);
        }
        fixture
    }

    fn found(&self) -> Option<(&'static str, u32)> {
        match find(self, 100, SESSION_DEPTH) {
            Ancestry::Below(ancestor) => Some((ancestor.harness.id, ancestor.id)),
            Ancestry::Clear => None,
            Ancestry::Unknown => panic!("the fixture is whole"),
        }
    }
}

fn process(executable: &str, arguments: &[&str]) -> Process {
    Process {
        executable: (!executable.is_empty()).then(|| PathBuf::from(executable)),
        arguments: arguments.iter().map(OsString::from).collect(),
        ..Process::default()
    }
}

const HOOK: (&str, &[&str]) = ("/usr/bin/dogwatch", &["dogwatch", "hook", "claude"]);
const SHELL: (&str, &[&str]) = ("/bin/dash", &["/bin/sh", "-c", "claude codex cursor"]);
const CLAUDE: (&str, &[&str]) = ("/home/dev/.local/share/claude/versions/2.1.332", &["claude"]);

// Chains as they were recorded from the real CLIs (2.1.332 and 0.171.0), a recorder standing where dogwatch would. The
// executable was not recorded.
#[rstest]
#[case::claude(&[
    ("", &["/usr/bin/python3", "/home/dev/bin/rec.py", "claude", "SessionStart"][..]),
    ("", &["/bin/sh", "-c", "/usr/bin/python3 /home/dev/bin/rec.py claude SessionStart"]),
    ("", &["/home/dev/.local/bin/claude", "-p", "please"]),
], ("claude", 102))]
#[case::codex_without_a_shell(&[
    ("", &["/usr/bin/python3", "/home/dev/bin/rec.py", "codex", "SessionStart"][..]),
    ("", &["/home/dev/.local/bin/codex", "exec", "--dangerously-bypass-hook-trust", "please"]),
], ("codex", 101))]
#[case::codex_terminal(&[
    ("", &["/usr/bin/python3", "/home/dev/bin/rec.py", "codex", "SessionStart"][..]),
    ("", &["/home/dev/.local/bin/codex", "--no-daemon"]),
], ("codex", 101))]
fn recorded_chains_are_recognised(#[case] chain: &[(&str, &[&str])], #[case] expected: (&'static str, u32)) {
    assert_eq!(Fixture::chain(chain).found(), Some(expected));
}

#[rstest]
#[case::claude_by_its_version("/home/dev/.local/share/claude/versions/2.1.332", &["-"], "claude")]
#[case::claude_replaced_by_an_update("/home/dev/.local/share/claude/versions/2.1.332 (deleted)", &["-"], "claude")]
#[case::claude_by_its_title("/usr/bin/node", &["claude"], "claude")]
#[case::claude_by_its_package("/usr/bin/node", &["node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"], "claude")]
#[case::claude_by_its_link("/usr/bin/node", &["node", "--max-old-space-size=8192", "/usr/local/bin/claude"], "claude")]
#[case::codex("/home/dev/.local/bin/codex", &["x"], "codex")]
#[case::codex_release("/opt/codex-x86_64-unknown-linux-musl", &["x"], "codex")]
#[case::codex_launcher("/usr/bin/node", &["node", "/usr/lib/node_modules/@openai/codex/bin/codex.js"], "codex")]
#[case::cursor_editor("/usr/share/cursor/cursor", &["/usr/share/cursor/cursor", "--type=zygote"], "cursor")]
#[case::cursor_cli("/home/dev/.local/share/cursor-agent/versions/2026.10.01-ab12/node", &["agent"], "cursor")]
#[case::cursor_remote("/home/dev/.cursor-server/bin/abc/node", &["node", "server-main.js"], "cursor")]
#[case::pi_by_its_title("/usr/bin/node", &["pi"], "pi")]
#[case::pi_signed("/usr/bin/node", &["pi-signed"], "pi")]
#[case::pi_by_its_link("/usr/bin/node", &["node", "/usr/local/bin/pi", "-p"], "pi")]
#[case::pi_by_its_package("/usr/bin/node", &["node", "-r", "x.js", "/x/node_modules/@mariozechner/pi-coding-agent/dist/cli.js"], "pi")]
#[case::opencode("/home/dev/.opencode/bin/opencode", &["opencode", "run"], "opencode")]
#[case::opencode_by_bun("/usr/bin/bun", &["bun", "run", "/usr/local/bin/opencode"], "opencode")]
#[case::grok("/home/dev/.grok/bin/grok", &["grok"], "grok")]
#[case::grok_release("/home/dev/.grok/downloads/grok-1.0.41-linux-x86_64", &["x"], "grok")]
#[case::of_another_user("", &["/usr/local/bin/claude"], "claude")]
fn a_harness_is_recognised(#[case] executable: &str, #[case] arguments: &[&str], #[case] expected: &str) {
    assert_eq!(recognise(&process(executable, arguments)).map(|harness| harness.id), Some(expected));
}

#[rstest]
#[case::an_argument("/usr/bin/vim", &["vim", "claude"])]
#[case::a_scripts_argument("/usr/bin/python3", &["python3", "/home/dev/bin/rec.py", "claude"])]
#[case::a_folder_of_that_name("/home/claude/bin/tool", &["/home/claude/bin/tool"])]
#[case::a_versions_folder_without_a_version("/srv/claude/versions/backup", &["x"])]
#[case::a_versions_folder_of_another("/srv/claud/versions/2.1.332", &["x"])]
#[case::deeper_than_the_version("/srv/claude/versions/2.1.332/bin/tool", &["x"])]
#[case::directly_below_the_version("/srv/claude/versions/2.1.332/tool", &["x"])]
#[case::a_script_of_a_project("/usr/bin/node", &["node", "/home/dev/codex/index.js"])]
#[case::a_script_beside_a_package("/usr/bin/node", &["node", "/x/@openai/codex/bin/codex.js"])]
#[case::another_package("/usr/bin/node", &["node", "/x/node_modules/@openai/codex-tools/x.js"])]
#[case::another_program("/usr/bin/claude-squad", &["claude-squad"])]
#[case::a_longer_name("/usr/bin/pip", &["pip"])]
#[case::a_script_that_a_shell_runs("/bin/bash", &["bash", "/usr/local/bin/claude-notify"])]
#[case::code_in_the_arguments("/usr/bin/node", &["node", "-e", "claude"])]
#[case::a_module("/usr/bin/python3.12", &["python3.12", "-m", "pi"])]
#[case::another_editor("/usr/share/code/code", &["code"])]
#[case::nothing_known("", &[])]
fn what_merely_bears_the_name_is_no_harness(#[case] executable: &str, #[case] arguments: &[&str]) {
    assert_eq!(recognise(&process(executable, arguments)).map(|harness| harness.id), None);
}

#[test]
fn the_process_itself_does_not_count() {
    assert_eq!(Fixture::chain(&[CLAUDE, SHELL, ("/bin/bash", &["bash"])]).found(), None);
}

#[test]
fn the_innermost_harness_is_the_session() {
    let codex: (&str, &[&str]) = ("/usr/bin/codex", &["codex"]);
    assert_eq!(Fixture::chain(&[HOOK, SHELL, codex, SHELL, CLAUDE]).found(), Some(("codex", 102)));
    assert_eq!(Fixture::chain(&[HOOK, SHELL, CLAUDE, SHELL, codex]).found(), Some(("claude", 102)));
}

#[test]
fn the_first_process_can_be_the_harness() {
    let mut fixture = Fixture::chain(&[HOOK, SHELL]);
    let claude = process(CLAUDE.0, CLAUDE.1);
    fixture.processes.insert(1, claude);
    fixture.processes.get_mut(&101).unwrap().parent = 1;
    assert_eq!(fixture.found(), Some(("claude", 1)));
}

#[test]
fn a_claude_launcher_and_its_worker_are_one_session() {
    assert_eq!(Fixture::chain(&[HOOK, SHELL, CLAUDE, CLAUDE, CLAUDE, SHELL]).found(), Some(("claude", 104)));
}

#[test]
fn a_claude_that_another_one_started_in_a_terminal_session_of_its_own_is_its_own_session() {
    let mut fixture = Fixture::chain(&[HOOK, SHELL, CLAUDE, CLAUDE]);
    fixture.processes.get_mut(&102).unwrap().session = 102;
    assert_eq!(fixture.found(), Some(("claude", 102)));
}

#[test]
fn a_claude_with_another_session_id_is_its_own_session() {
    let mut fixture = Fixture::chain(&[HOOK, SHELL, CLAUDE, CLAUDE]);
    fixture.sessions.insert(102, "outer");
    assert_eq!(fixture.found(), Some(("claude", 102)));
    fixture.sessions.insert(103, "outer");
    assert_eq!(fixture.found(), Some(("claude", 103)), "both were started in the same one");
}

#[test]
fn a_claude_beyond_a_shell_is_another_session() {
    assert_eq!(Fixture::chain(&[HOOK, SHELL, CLAUDE, SHELL, CLAUDE]).found(), Some(("claude", 102)));
}

#[test]
fn sixteen_ancestors_are_looked_at() {
    let below = |shells: usize| {
        let mut chain = vec![HOOK];
        chain.extend(vec![SHELL; shells]);
        chain.push(CLAUDE);
        Fixture::chain(&chain)
    };
    assert_eq!(below(15).found(), Some(("claude", 116)));
    assert_eq!(below(16).found(), None);
    assert!(matches!(find(&below(16), 100, EVERY_DEPTH), Ancestry::Below(_)));
    assert!(matches!(find(&below(1000), 100, EVERY_DEPTH), Ancestry::Below(_)));
}

#[test]
fn a_chain_that_goes_round_ends() {
    let mut fixture = Fixture::chain(&[HOOK, SHELL, SHELL]);
    fixture.processes.get_mut(&102).unwrap().parent = 101;
    assert_eq!(find(&fixture, 100, EVERY_DEPTH), Ancestry::Clear);
    let mut fixture = Fixture::chain(&[HOOK, CLAUDE, CLAUDE]);
    fixture.processes.get_mut(&102).unwrap().parent = 101;
    assert!(matches!(find(&fixture, 100, EVERY_DEPTH), Ancestry::Below(_)));
}

#[test]
fn a_parent_that_cannot_be_seen_is_not_taken_for_none() {
    let mut fixture = Fixture::chain(&[HOOK, SHELL, SHELL]);
    fixture.processes.remove(&102);
    assert_eq!(
        find(&fixture, 100, SESSION_DEPTH),
        Ancestry::Clear,
        "the parent was seen, what is above was not"
    );
    fixture.processes.remove(&101);
    assert_eq!(find(&fixture, 100, SESSION_DEPTH), Ancestry::Unknown);
    assert_eq!(find(&Fixture::default(), 100, SESSION_DEPTH), Ancestry::Unknown);
}

#[test]
fn this_process_is_read_from_the_system() {
    let me = System.process(std::process::id()).unwrap();
    assert_eq!(me.parent, nix::unistd::getppid().as_raw().cast_unsigned());
    assert_eq!(me.session, nix::unistd::getsid(None).unwrap().as_raw().cast_unsigned());
    assert_eq!(me.executable.unwrap(), std::env::current_exe().unwrap());
    assert_eq!(me.arguments, std::env::args_os().collect::<Vec<_>>());
    assert_eq!(System.process(u32::MAX), None);
}

#[test]
fn a_title_leaves_no_empty_arguments() {
    assert_eq!(split_nul(b"pi\0\0\0\0"), ["pi", "", "", ""]);
    assert_eq!(split_nul(b""), [""; 0]);
    assert_eq!(split_nul(b"a\0b\0"), ["a", "b"]);
}
