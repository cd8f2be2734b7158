//! For the accounts' tests: an answer that was given without running anything, and what it came to.

use std::path::Path;
use std::time::Duration;

use super::{Discovery, Event, Harness, Hook, Place, Registration, conclude};
use crate::launch::{Exit, HookRun};
use crate::recording;
use crate::report::{Effect, Kind};

/// What a hook did.
pub(crate) struct Answer<'a> {
    pub(crate) code: i32,
    pub(crate) stdout: &'a str,
    pub(crate) stderr: &'a str,
    pub(crate) registration: Option<Registration>,
}

/// An answer with exit code 0.
pub(crate) fn says(stdout: &str) -> Answer<'_> {
    Answer { code: 0, stdout, stderr: "", registration: None }
}

/// An exit code, with a text on stderr.
pub(crate) fn exits(code: i32, stderr: &str) -> Answer<'_> {
    Answer { code, stdout: "", stderr, registration: None }
}

/// What comes of an answer to the first recording whose name begins so.
pub(crate) fn effects(harness: Harness, version: &str, name: &str, answer: &Answer<'_>) -> Vec<Effect> {
    given(harness, version, name, answer).0
}

/// What else the person who wrote it should know.
pub(crate) fn remarks(harness: Harness, version: &str, name: &str, answer: &Answer<'_>) -> Vec<String> {
    given(harness, version, name, answer).1
}

fn given(harness: Harness, version: &str, name: &str, answer: &Answer<'_>) -> (Vec<Effect>, Vec<String>) {
    let recording = recording::all()
        .iter()
        .find(|recording| {
            recording.harness == harness && recording.version == version && recording.name.starts_with(name)
        })
        .unwrap_or_else(|| panic!("no recording {name}"));
    let run = HookRun {
        command: "hook".to_owned(),
        exit: Exit::Code { code: answer.code },
        elapsed: Duration::ZERO,
        deadline: Duration::from_secs(60),
        timed_out: false,
        stdout_bytes: answer.stdout.len() as u64,
        stderr_bytes: answer.stderr.len() as u64,
        stdin_bytes: 0,
        stdout_eof: true,
        signalled: false,
        holders: Vec::new(),
        stdout: answer.stdout.as_bytes().to_vec(),
        stderr: answer.stderr.as_bytes().to_vec(),
    };
    let account = harness.account().unwrap();
    let event = Event { recording, payload: recording.payload() };
    let hook = Hook { run: &run, registration: answer.registration.as_ref() };
    let mut effects = account.read(event, hook);
    conclude(account, event.name(), &mut effects);
    (effects, account.remarks(event, hook))
}

/// Effects as short texts: `denied: no`, `context whole 5: hello`, `ran`.
pub(crate) fn short(effects: &[Effect]) -> Vec<String> {
    effects
        .iter()
        .map(|effect| match effect.kind {
            Kind::Context => format!(
                "context {}: {}",
                format!("{:?}", effect.delivered.unwrap()).to_lowercase(),
                effect.text.as_deref().unwrap()
            ),
            Kind::Message => format!("message: {}", effect.text.as_deref().unwrap()),
            kind => match &effect.why {
                Some(why) => format!("{}: {why}", kind.name()),
                None => kind.name().to_owned(),
            },
        })
        .collect()
}

/// Asserts that each expectation begins the effect of the same place, and that there are no others.
#[track_caller]
pub(crate) fn assert_effects(effects: &[Effect], expected: &[&str], of: &str) {
    let short = short(effects);
    let fits =
        short.len() == expected.len() && short.iter().zip(expected).all(|(is, begin)| is.starts_with(begin));
    assert!(fits, "{of}\n     is {short:#?}\n not {expected:#?}");
}

/// A folder with files in it.
pub(crate) fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// What a harness finds in a project and a home.
pub(crate) fn discover(harness: Harness, project: &Path, home: &Path, trusted: bool) -> Discovery {
    harness.account().unwrap().discover(Place { project, home: Some(home), trusted })
}

/// `event command` of every registration.
pub(crate) fn registered(found: &Discovery) -> Vec<String> {
    found.registrations.iter().map(|one| format!("{} {}", one.event, one.command)).collect()
}

/// Whether a matcher takes the event of the first recording whose name begins so.
pub(crate) fn takes(harness: Harness, version: &str, name: &str, matcher: &str) -> bool {
    let recording = recording::all()
        .iter()
        .find(|one| one.harness == harness && one.version == version && one.name.starts_with(name))
        .unwrap();
    let account = harness.account().unwrap();
    match account.matched(Event { recording, payload: recording.payload() }) {
        Some(values) => account.matches(matcher, &values),
        None => true,
    }
}
