//! Every recorded payload through the program, below a process that bears its harness's name: what it printed, and what
//! it left in the home.
//!
//! The snapshots have one paragraph per session open, and the texts behind the numbers at the end. To look at a
//! change: `cargo insta review`, or the `.snap.new` files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dogwatch::harness::{Event, EventKind, Harness, Payload, neutral, read};
use rstest::rstest;
use serde_json::Value;

use crate::support::{Desk, Fired, Host, PROGRAM};

/// What stands behind the name of a recording that came through Claude Code's registration.
const FROM_CLAUDE: &str = "-from-claude-settings";
/// Variables in which a harness names the project's folder.
const FOLDERS: [&str; 3] = ["CLAUDE_PROJECT_DIR", "CURSOR_PROJECT_DIR", "GROK_WORKSPACE_ROOT"];

#[rstest]
fn what_a_session_open_prints_and_leaves(
    #[values("claude", "codex", "cursor", "pi", "opencode", "grok")] harness: &str,
) {
    let mut texts = Texts::default();
    let mut told = String::new();
    for recording in opens(harness) {
        let mut life = Life::new(harness);
        let fired = life.fire(&recording, recording.event().kind);
        writeln!(told, "{}\n{}", recording.heading(), life.tell(&recording, &fired, &mut texts)).unwrap();
    }
    let told = format!("{told}{}", texts.tell());
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(format!("open-{harness}"), told);
    });
}

/// A session that started, and then opens once more in the same process: by each way that its harness was seen to.
#[rstest]
fn what_the_second_open_of_a_session_prints_and_leaves(
    #[values("claude", "codex", "cursor", "pi", "opencode", "grok")] harness: &str,
) {
    let mut texts = Texts::default();
    let mut told = String::new();
    let opens: Vec<Recording> =
        opens(harness).into_iter().filter(|recording| !recording.name.ends_with(FROM_CLAUDE)).collect();
    let start = opens.iter().find(|recording| recording.is_start()).unwrap();
    let mut seen = Vec::new();
    for second in opens.iter().filter(|recording| recording.name != start.name && !recording.is_start()) {
        let source = second.event().source;
        if seen.contains(&source) && harness != "opencode" {
            continue;
        }
        seen.push(source);
        let own_id = second.event().session_id.unwrap();
        let first_id = start.event().session_id.unwrap();
        let mut ids = vec![if second.goes_on() { &first_id } else { &own_id }];
        // A session that is resumed may have been another one: where sessions share a process, that makes a difference.
        if second.name.contains("resume") && own_id != first_id {
            ids.push(&own_id);
        }
        for id in ids {
            let second = Recording { text: second.text.replace(&own_id, id), ..second.clone() };
            let mut life = Life::new(harness);
            let first = life.fire(start, Some(EventKind::SessionOpen));
            assert_eq!(first.code, 0, "{first:?}");
            let fired = life.fire(&second, Some(EventKind::SessionOpen));
            let session = if *id == first_id { "the same session" } else { "another session" };
            let heading = format!("{}\nthen {}, {session}", start.heading(), second.name);
            writeln!(told, "{heading}\n{}", life.tell(&second, &fired, &mut texts)).unwrap();
        }
    }
    let told = format!("{told}{}", texts.tell());
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(format!("second-open-{harness}"), told);
    });
}

#[test]
fn cursors_events_through_claudes_registration_get_the_answer_that_does_not_block() {
    let mut life = Life::new("cursor");
    let before = everything(&life.desk);
    for recording in recordings("cursor") {
        let event = recording.event();
        let fired = life.fire_through("claude", &recording, event.kind);
        let name = event.name.as_deref().unwrap();
        let asks =
            ["preToolUse", "beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "subagentStart"]
                .contains(&name);
        let answer = if asks { r#"{"permission":"allow"}"# } else { "{}" };
        assert_eq!(
            (fired.stdout.as_str(), fired.stderr.as_str(), fired.code),
            (answer, "", 0),
            "{}",
            recording.name
        );
    }
    assert_eq!(everything(&life.desk), before, "something was written");
}

#[test]
fn groks_events_through_claudes_registration_get_no_answer() {
    let mut life = Life::new("grok");
    let before = everything(&life.desk);
    for recording in recordings("grok") {
        let fired = life.fire_through("claude", &recording, recording.event().kind);
        assert_eq!(
            (fired.stdout.as_str(), fired.stderr.as_str(), fired.code),
            ("", "", 0),
            "{}",
            recording.name
        );
    }
    assert_eq!(everything(&life.desk), before, "something was written");
}

#[rstest]
fn every_event_gets_an_answer_that_its_harness_takes(
    #[values("claude", "codex", "cursor", "pi", "opencode", "grok")] harness: &str,
) {
    let mut life = Life::new(harness);
    for recording in recordings(harness) {
        let event = recording.event();
        let fired = life.fire(&recording, event.kind);
        assert_eq!((fired.stderr.as_str(), fired.code), ("", 0), "{}: {fired:?}", recording.name);
        if fired.stdout.as_bytes() != neutral(event.owner, event.name.as_deref(), event.kind) {
            assert_is_context(event.owner.id, event.name.as_deref(), &fired.stdout, &recording.name);
        }
    }
}

/// An answer with text for the model, and with nothing that the harness would stumble over.
fn assert_is_context(harness: &str, event: Option<&str>, stdout: &str, name: &str) {
    if ["pi", "opencode"].contains(&harness) {
        assert!(!stdout.is_empty() && !stdout.starts_with(['{', '[']), "{name}: {stdout}");
        return;
    }
    let reply: Value =
        serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{name}: {error}: {stdout}"));
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let text = if harness == "cursor" {
        assert_eq!(keys(&reply), ["additional_context"], "{name}");
        &reply["additional_context"]
    } else {
        // Codex refuses an answer with any other key.
        assert_eq!(keys(&reply), ["hookSpecificOutput"], "{name}");
        let specific = &reply["hookSpecificOutput"];
        assert_eq!(keys(specific), ["hookEventName", "additionalContext"], "{name}");
        assert_eq!(specific["hookEventName"].as_str(), event, "{name}");
        &specific["additionalContext"]
    };
    assert!(text.as_str().is_some_and(|text| !text.is_empty()), "{name}: {stdout}");
}

/// A recording, as its file has it.
#[derive(Clone)]
struct Recording {
    harness: &'static Harness,
    /// `<version>/<event>-<variant>`.
    name: String,
    document: Value,
    /// The payload.
    text: String,
}

impl Recording {
    fn provenance(&self, key: &str) -> &str {
        self.document["provenance"][key].as_str().unwrap()
    }

    /// The registration that it came through.
    fn registration(&self) -> &'static Harness {
        let id = if self.name.ends_with(FROM_CLAUDE) { "claude" } else { self.harness.id };
        Harness::by_name(id).unwrap().0
    }

    fn event(&self) -> Event {
        // The hooks of an OpenCode plugin do not say which they are; the plugin's registration does.
        let canonical = self.name.split_once("/hook.").and_then(|(_, hook)| {
            let (hook, _variant) = hook.rsplit_once('-')?;
            self.harness.event(hook)
        });
        match read(self.registration(), canonical, self.text.as_bytes()) {
            Payload::Whole(event) => Event { kind: event.kind.or(canonical), ..event },
            Payload::Unreadable { why } => panic!("{}: {why}", self.name),
        }
    }

    /// Which of its session opens begins a session.
    fn is_start(&self) -> bool {
        self.name.contains("-startup")
            || self.name.ends_with("SessionStart-new")
            || self.name.ends_with("session.created-default")
    }

    /// Whether it tells of a session that was there before.
    fn goes_on(&self) -> bool {
        ["compact", "resume", "load", "reload"].iter().any(|way| self.name.contains(way))
    }

    fn heading(&self) -> String {
        let [how, cli, version, mode] = ["how", "cli", "version", "mode"].map(|key| self.provenance(key));
        format!("## {} ({how}: {cli} {version}, {mode})", self.name)
    }
}

/// Every recording of a harness, in order.
fn recordings(harness: &str) -> Vec<Recording> {
    let (harness, _) = Harness::by_name(harness).unwrap();
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../harness-sim/recordings").join(harness.id);
    let mut recordings = Vec::new();
    for version in fs::read_dir(&top).unwrap() {
        let version = version.unwrap().path();
        for file in fs::read_dir(&version).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let document: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
            let version = version.file_name().unwrap().to_str().unwrap();
            let text = document["payload"].to_string();
            recordings.push(Recording {
                harness,
                name: format!("{version}/{}", name(&file)),
                document,
                text,
            });
        }
    }
    recordings.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(!recordings.is_empty(), "{}", top.display());
    recordings
}

/// Those that tell of a session that opens.
fn opens(harness: &str) -> Vec<Recording> {
    let mut recordings = recordings(harness);
    recordings.retain(|recording| recording.event().kind == Some(EventKind::SessionOpen));
    recordings
}

/// A fresh home, and a process that bears the harness's name.
struct Life {
    desk: Desk,
    host: Host,
}

impl Life {
    fn new(harness: &str) -> Life {
        let desk = Desk::new();
        desk.git();
        assert!(desk.dogwatch(&["init"]).status.success());
        let host = Host::new(&desk, harness);
        Life { desk, host }
    }

    /// Through the registration that it came through.
    fn fire(&mut self, recording: &Recording, kind: Option<EventKind>) -> Fired {
        self.fire_through(recording.registration().id, recording, kind)
    }

    fn fire_through(&mut self, registered: &str, recording: &Recording, kind: Option<EventKind>) -> Fired {
        let project = self.desk.marker();
        let home = self.desk.project.parent().unwrap().display().to_string();
        let payload = recording.text.replace("/home/dev/project", &project).replace("/home/dev", &home);
        let variables = recording.document["env"].as_array().unwrap();
        let mut before = String::new();
        for folder in FOLDERS.iter().filter(|folder| variables.iter().any(|name| name == **folder)) {
            write!(before, "{folder}={project} ").unwrap();
        }
        let words =
            ["hook", registered].into_iter().chain(kind.map(EventKind::id)).collect::<Vec<_>>().join(" ");
        // What the registration of Cursor knows better than its payload, which has no source.
        let is_open = kind == Some(EventKind::SessionOpen);
        let source = if registered == "cursor" && is_open { " --source startup" } else { "" };
        self.host.begin(&before, &format!("{words}{source}"), payload.as_bytes());
        self.host.end()
    }

    /// What came of it, in words that are the same in every run.
    fn tell(&self, recording: &Recording, fired: &Fired, texts: &mut Texts) -> String {
        let mut told = String::new();
        writeln!(told, "stdout  {}", self.stdout(fired, texts)).unwrap();
        if !fired.stderr.is_empty() {
            writeln!(told, "stderr  {}", self.settled(&fired.stderr)).unwrap();
        }
        writeln!(told, "exit    {}", fired.code).unwrap();
        writeln!(told, "trace   {}", self.trace()).unwrap();
        writeln!(told, "state   {}", self.state(&recording.event().session_id.unwrap())).unwrap();
        told
    }

    fn stdout(&self, fired: &Fired, texts: &mut Texts) -> String {
        let Ok(mut reply) = serde_json::from_str::<Value>(&fired.stdout) else {
            let text = self.settled(&fired.stdout);
            return if text.is_empty() { "-".to_owned() } else { texts.name(text) };
        };
        for pointer in ["/hookSpecificOutput/additionalContext", "/additional_context"] {
            if let Some(text) = reply.pointer_mut(pointer) {
                *text = Value::String(texts.name(self.settled(text.as_str().unwrap())));
            }
        }
        reply.to_string()
    }

    /// Without what is another in each run.
    fn settled(&self, text: &str) -> String {
        let scratch = self.desk.project.parent().unwrap().display().to_string();
        let text = text
            .replace(&self.desk.marker(), "<project>")
            .replace(&scratch, "<home>")
            .replace(PROGRAM, "<dogwatch>")
            .replace('\u{2063}', "<U+2063>");
        // The head says when: `# dogwatch session digest: project (2026-11-30 21:02 +00:00)`.
        match text.find("digest: project (") {
            Some(found) => {
                let begin = found + "digest: project (".len();
                let end = begin + text[begin..].find([',', ')']).unwrap();
                format!("{}<time>{}", &text[..begin], &text[end..])
            }
            None => text,
        }
    }

    /// The last line of the trace.
    fn trace(&self) -> String {
        let path = self.desk.project.join(".dogwatch/state/trace.jsonl");
        let Ok(trace) = fs::read_to_string(path) else { return "-".to_owned() };
        let line: Value = serde_json::from_str(trace.lines().last().unwrap()).unwrap();
        let word = |key: &str| line[key].as_str().unwrap_or("-").to_owned();
        format!(
            "{} of {}, source {}, decision {}, rule {}",
            word("event"),
            word("harness"),
            word("source"),
            word("decision"),
            word("rule")
        )
    }

    /// Whose the helm is, and the other files in the home's state. Locks and folders are left out.
    fn state(&self, session: &str) -> String {
        let state = self.desk.project.join(".dogwatch/state");
        let said = |name: &str| name.replace(session, "<session>");
        let helm = fs::read(state.join("helm.json"))
            .map(|helm| serde_json::from_slice::<Value>(&helm).unwrap())
            .map_or("nobody's".to_owned(), |helm| {
                assert_eq!(helm["process"]["pid"], self.host.pid(), "not its harness's");
                said(&format!("this process's (session {})", helm["session"].as_str().unwrap_or("-")))
            });
        let mut told = format!("helm {helm}");
        for (path, (_, text)) in everything(&self.desk) {
            let Some(name) = path.strip_prefix(&state).ok().and_then(Path::to_str) else { continue };
            // What is in `once/` is named after a hash of a payload with this run's paths in it.
            let is_lock = path.extension().is_some_and(|extension| extension == "lock");
            let is_told = text.is_some() && !is_lock && !name.starts_with("once/");
            if is_told && name != "helm.json" && name != "trace.jsonl" {
                write!(told, ", {}", said(name)).unwrap();
            }
        }
        told
    }
}

/// The texts for the model, each once.
#[derive(Default)]
struct Texts(Vec<String>);

impl Texts {
    fn name(&mut self, text: String) -> String {
        let index = self.0.iter().position(|known| *known == text).unwrap_or_else(|| {
            self.0.push(text);
            self.0.len() - 1
        });
        format!("<text {}>", index + 1)
    }

    fn tell(&self) -> String {
        let told = self.0.iter().enumerate().map(|(index, text)| format!("# <text {}>\n{text}\n", index + 1));
        told.collect()
    }
}

/// Every file and folder of the desk, but for git's: when it changed, and what is in it.
fn everything(desk: &Desk) -> BTreeMap<PathBuf, (SystemTime, Option<Vec<u8>>)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![desk.project.parent().unwrap().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type().unwrap())).unwrap();
            if kind.is_dir() && !path.ends_with("project/.git") {
                folders.push(path.clone());
            }
            let text = if kind.is_file() { Some(fs::read(&path).unwrap()) } else { None };
            found.insert(path.clone(), (fs::symlink_metadata(&path).unwrap().modified().unwrap(), text));
        }
    }
    found
}
