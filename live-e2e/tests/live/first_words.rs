//! The first and the later messages of a session: what dogwatch says is told from what the person says, and a person who
//! begins with a skill has a session that is in charge.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use live_e2e::model::{Request, Role};
use live_e2e::{Agent, Desk, How, Opens};

use crate::Test;
use crate::case::{Case, DIGEST, NUDGE, RUN_TIER, run, told};
use crate::conversation::Conversation;
use crate::deferred::{WAKE, desk_with_a_check};

/// Those that are told by an extension, whose words stand among the person's.
const EXTENDED: &[Agent] = &[Agent::Pi, Agent::OpenCode];

pub(crate) const TESTS: &[Test] = &[
    ("what_dogwatch_says_is_told_from_what_the_person_says", EXTENDED, provenance),
    ("a_session_whose_first_command_is_a_skill_is_in_charge_already", RUN_TIER, skill_first),
];

/// What `dogwatch op classify` says of a text.
fn classify(desk: &Desk, text: &str) -> String {
    let mut command = Command::new(desk.program());
    command.args(["op", "classify"]).current_dir(desk.project()).env_clear().env("HOME", desk.home());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// What stands in a request as the person's, without what the CLI itself adds: each text that holds one of these words, and
/// what it is taken for.
fn classified(desk: &Desk, request: &Request, words: &[&str]) -> Vec<(String, String)> {
    let texts = request.texts().into_iter().filter(|text| text.role == Role::User);
    let found = texts.filter_map(|text| {
        let word = words.iter().find(|word| text.text.contains(**word))?;
        Some(((*word).to_owned(), classify(desk, &text.text)))
    });
    found.collect()
}

fn provenance(case: &Case) {
    let (desk, gate) = desk_with_a_check(case);
    let start = if case.agent == Agent::Pi { DIGEST } else { NUDGE };
    // OpenCode's model does as it was asked, and only then there is a check.
    let first = if case.agent == Agent::Pi { String::new() } else { crate::case::following(&desk) };
    let mut talk = Conversation::open(case.agent, &desk, Opens::New);
    let opened = talk.say(&first).remove(0);
    let words = [start, "prompt-1", "prompt-2", WAKE];
    let of = |word: &str, kind: &str| (word.to_owned(), kind.to_owned());
    let sorted = |mut pairs: Vec<(String, String)>| {
        pairs.sort();
        pairs
    };
    let found = sorted(classified(&desk, &opened, &words));
    let expected = vec![of(start, "session-start"), of("prompt-1", "person")];
    assert_eq!(found, sorted(expected.clone()), "{:?}", opened.texts());
    gate.open("now");
    desk.dogwatch(&["network", "wait", "--timeout", "90s"]).unwrap();
    let later = talk.say("").remove(0);
    let found = sorted(classified(&desk, &later, &words));
    let more = [of("prompt-2", "person"), of(WAKE, "wake")];
    assert_eq!(found, sorted([expected, more.into()].concat()), "{:?}", later.texts());
    let ran = talk.leave();
    assert!(ran.leaks().is_empty(), "{:?}", ran.leaks());
}

fn skill_first(case: &Case) {
    let desk = case.desk();
    let (folder, prompt) = match case.agent {
        Agent::Claude => (".claude/skills", "/probe"),
        Agent::Pi => (".pi/skills", "/skill:probe"),
        _ => (".agents/skills", "$probe"),
    };
    let folder = desk.project().join(folder).join("probe");
    fs::create_dir_all(&folder).unwrap();
    let look = desk.shell(&format!("{} helm status", desk.program().display()));
    // Claude Code runs what stands behind the exclamation mark itself, before its model is asked.
    let at_once = format!("At once: !`{} helm status`", desk.program().display());
    let skill = format!(
        "---\nname: probe\ndescription: tells who is in charge\n---\nThe skill of this test. {} {look} @@say bye@@\n",
        if case.agent == Agent::Claude { at_once.as_str() } else { "" },
    );
    fs::write(folder.join("SKILL.md"), skill).unwrap();
    let (ran, turns) = run(&desk, prompt, &How::default());
    let first = turns[0].context();
    assert!(first.contains("The skill of this test."), "{first}\n{}", told(&desk, &ran));
    assert_eq!(first.matches(DIGEST).count(), 1, "{first}");
    // The one that was opened, not just somebody.
    let opened = desk.trace().into_iter().find(|line| line["moment"] == "session-open").unwrap();
    let session = opened["session"].as_str().unwrap().to_owned();
    let in_charge = format!("In charge: {} (process ", case.agent);
    let result = turns.last().unwrap().tool_results().join("\n");
    let is_ours = result.contains(&in_charge) && result.contains(&session);
    assert!(is_ours, "{result}\n{}", told(&desk, &ran));
    if case.agent == Agent::Claude {
        assert!(first.contains(&format!("At once: {in_charge}")), "{first}");
    }
}
