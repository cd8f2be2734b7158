//! `state/sessions/<harness>-<session id>.json`: what is remembered of a session from one event to the next.

use std::time::Duration;

use dogwatch_engine::process::Identity;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::helm::Me;
use super::ids;
use super::presence::{self, Liveness, Vantage};
use super::state::{Folder, StateError};
use super::stored;

/// The folder of the rows in `state/`.
pub const FOLDER: &str = "sessions";
const LOCK_NAME: &str = "rows.lock";
/// How long a change of a row waits for another one.
const CHANGE_BOUND: Duration = Duration::from_millis(250);
const LIMIT_BYTES: u64 = 256 * 1024;
/// How many names and how many rows, the newest, a look at the live sessions takes in.
const MOST_NAMES: usize = 2000;
const MOST_ROWS: usize = 64;

/// What a session is about, by its own word, and whether it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lifecycle {
    /// It works.
    #[default]
    Active,
    /// It is done with its task.
    Done,
    /// It waits for somebody.
    Blocked,
    /// Its `end` was seen.
    Ended,
}

/// A session's row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The harness's id.
    pub harness: String,
    /// The session's id; the hash of one that is too long or no plain text.
    pub session: String,
    /// The harness's process, if it could be seen.
    #[serde(default)]
    pub process: Option<Identity>,
    /// The name of its host.
    #[serde(default)]
    pub host: String,
    /// The inode of its PID namespace.
    #[serde(default)]
    pub pid_namespace: Option<u64>,
    /// Whether several sessions share the process.
    #[serde(default)]
    pub shared_process: bool,
    /// When it was opened, RFC 3339.
    pub opened_at: String,
    /// Its last event, RFC 3339.
    pub last_event: String,
    /// Whether it works, is done, is over.
    #[serde(default)]
    pub lifecycle: Lifecycle,
    /// The agent's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The session name that was minted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested_session_name: Option<String>,
    /// The session name that was last seen displayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_name_seen_for: Option<String>,
    /// When it was first seen, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_name_seen_at: Option<String>,
    /// The session name that we last asked to be displayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_name_display_requested_for: Option<String>,
    /// The session name that the person's prompt last reminded of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_name_nudged_for: Option<String>,
    /// Whether the session's next event that can carry context has to carry the nudge (Grok).
    #[serde(default)]
    pub nudge_owed: bool,
    /// What a newer dogwatch keeps here.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Row {
    /// The row of a session that has just been opened.
    pub fn new(me: &Me, session: &str, now: Timestamp) -> Row {
        let here = Vantage::here();
        Row {
            harness: ids::kept(&me.harness),
            session: ids::kept(session),
            process: me.process.clone(),
            host: here.host,
            pid_namespace: here.pid_namespace,
            shared_process: me.shared_process,
            opened_at: presence::stamp(now),
            last_event: presence::fine_stamp(now),
            lifecycle: Lifecycle::Active,
            name: None,
            task: None,
            suggested_session_name: None,
            session_name_seen_for: None,
            session_name_seen_at: None,
            session_name_display_requested_for: None,
            session_name_nudged_for: None,
            nudge_owed: false,
            rest: Map::new(),
        }
    }

    /// Notes an event. The session's process can be another one since, as after a resume.
    pub fn saw_event(&mut self, me: &Me, now: Timestamp) {
        let here = Vantage::here();
        self.last_event = presence::fine_stamp(now);
        if me.process.is_some() {
            self.process.clone_from(&me.process);
            (self.host, self.pid_namespace) = (here.host, here.pid_namespace);
        }
        self.shared_process = me.shared_process;
    }

    /// Whether the session is there, as far as that can be told. One whose harness cannot be seen counts by its events,
    /// as one does that shares its process.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.is_live_from(&Vantage::here(), now)
    }

    fn is_live_from(&self, here: &Vantage, now: Timestamp) -> bool {
        if self.lifecycle == Lifecycle::Ended {
            return false;
        }
        let there = Vantage { host: self.host.clone(), pid_namespace: self.pid_namespace };
        match self.process.as_ref().map(|process| presence::look(process, &there, here)) {
            Some(Liveness::Stale(_)) => false,
            Some(Liveness::Alive) if !self.shared_process => true,
            _ => !presence::is_silent(&self.last_event, now),
        }
    }

    fn is_of(&self, me: &Me) -> bool {
        match &me.session {
            Some(session) => self.session == ids::kept(session) && self.harness == ids::kept(&me.harness),
            None => !self.shared_process && self.process.is_some() && self.process == me.process,
        }
    }
}

/// The name of a session's files in the home, without an extension.
pub fn file_stem(harness: &str, session: &str) -> String {
    ids::file_stem(harness, session)
}

/// The row of a session; `None` if there is none, or none that can be read as one.
///
/// # Errors
/// Where the operating system says no.
pub fn load(state: &Folder, harness: &str, session: &str) -> Result<Option<Row>, StateError> {
    let Some(folder) = state.open_sub(FOLDER)? else { return Ok(None) };
    let row = stored::read::<Row>(&folder, &file_name(harness, session), LIMIT_BYTES)?.row();
    Ok(row.filter(|row| row.session == ids::kept(session) && row.harness == ids::kept(harness)))
}

/// Puts a session's row there whole.
pub fn save(state: &Folder, row: &Row) -> Result<(), StateError> {
    stored::write(&state.sub(FOLDER)?, &file_name(&row.harness, &row.session), row)
}

/// Changes a session's row so that no change of another event is lost; `None` if there is no row. An event does not
/// wait long for others: past that it goes on without them.
pub fn update(
    state: &Folder,
    harness: &str,
    session: &str,
    change: impl FnOnce(&mut Row),
) -> Result<Option<Row>, StateError> {
    update_within(CHANGE_BOUND, state, harness, session, change)
}

fn update_within(
    bound: Duration,
    state: &Folder,
    harness: &str,
    session: &str,
    change: impl FnOnce(&mut Row),
) -> Result<Option<Row>, StateError> {
    let _lock = state.lock(LOCK_NAME, bound)?;
    let Some(mut row) = load(state, harness, session)? else { return Ok(None) };
    let before = row.clone();
    change(&mut row);
    if row != before {
        save(state, &row)?;
    }
    Ok(Some(row))
}

/// The other sessions of this home that are there now, the one with the newest event first. It never fails: what cannot
/// be read is not told.
pub fn live_others(state: &Folder, me: &Me) -> Vec<Row> {
    let (now, here) = (Timestamp::now(), Vantage::here());
    let Ok(Some(folder)) = state.open_sub(FOLDER) else { return Vec::new() };
    let mut files = folder.files(MOST_NAMES).unwrap_or_default();
    files.retain(|file| file.name.strip_suffix(".json").is_some());
    files.sort_by_key(|file| std::cmp::Reverse(file.modified_seconds));
    let mut rows: Vec<Row> = files
        .iter()
        .take(MOST_ROWS)
        .filter_map(|file| stored::read::<Row>(&folder, &file.name, LIMIT_BYTES).ok()?.row())
        .filter(|row| !row.is_of(me) && row.is_live_from(&here, now))
        .collect();
    rows.sort_by(|one, other| (&other.last_event, &one.session).cmp(&(&one.last_event, &other.session)));
    // After `/clear` a process goes on with another session; what went before is not another one.
    if !me.shared_process {
        rows.retain(|row| row.shared_process || row.process.is_none() || row.process != me.process);
    }
    rows
}

/// An id that is a hash already, because it came out of a row, is not hashed again.
fn file_name(harness: &str, session: &str) -> String {
    format!("{}.json", ids::file_stem(&ids::kept(harness), &ids::kept(session)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::thread;

    use super::*;

    fn home() -> (tempfile::TempDir, Folder) {
        let home = tempfile::tempdir().unwrap();
        let state = Folder::state_of(home.path()).unwrap();
        (home, state)
    }

    fn this_process() -> Identity {
        Identity::current().unwrap()
    }

    fn me(process: Option<Identity>, session: &str, shared_process: bool) -> Me {
        Me { process, harness: "codex".to_owned(), session: Some(session.to_owned()), shared_process }
    }

    fn saved(state: &Folder, me: &Me, change: impl FnOnce(&mut Row)) -> Row {
        let mut row = Row::new(me, me.session.as_deref().unwrap(), Timestamp::now());
        change(&mut row);
        save(state, &row).unwrap();
        row
    }

    fn seen(state: &Folder, me: &Me) -> Vec<String> {
        live_others(state, me).into_iter().map(|row| row.session).collect()
    }

    #[test]
    fn what_was_saved_is_loaded() {
        let (_home, state) = home();
        assert_eq!(load(&state, "codex", "a").unwrap(), None);
        let row = saved(&state, &me(Some(this_process()), "a", false), |row| {
            row.task = Some("mend it".to_owned());
            row.nudge_owed = true;
        });
        assert_eq!(load(&state, "codex", "a").unwrap(), Some(row));
        assert_eq!(load(&state, "claude", "a").unwrap(), None);
        assert!(state.path().join("sessions/codex-a.json").exists());
    }

    #[test]
    fn odd_ids_stay_within_the_folder() {
        let (home, state) = home();
        for id in ["", "..", "../../x", "a/b", "a\0b", "Ab", &"x".repeat(1 << 20)] {
            let row = saved(&state, &me(None, id, false), |_| {});
            assert_eq!(load(&state, "codex", id).unwrap(), Some(row));
        }
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
        assert_eq!(fs::read_dir(state.path().join(FOLDER)).unwrap().count(), 7);
    }

    #[test]
    fn what_a_newer_dogwatch_wrote_is_kept() {
        let (_home, state) = home();
        saved(&state, &me(None, "a", false), |_| {});
        let path = state.path().join("sessions/codex-a.json");
        let text = fs::read_to_string(&path).unwrap().replace(r#""version":1"#, r#""version":2,"later":[1]"#);
        fs::write(&path, text).unwrap();
        update(&state, "codex", "a", |row| row.nudge_owed = true).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(r#""later":[1]"#) && text.contains(r#""nudge_owed":true"#), "{text}");
        assert_eq!(text.matches("version").count(), 1, "{text}");
    }

    #[test]
    fn what_is_no_row_counts_as_lost() {
        let (home, state) = home();
        let sessions = state.sub(FOLDER).unwrap();
        for garbage in ["", "{", "{}", "7", "null"] {
            sessions.write_atomic("codex-a.json", garbage.as_bytes()).unwrap();
            assert_eq!(load(&state, "codex", "a").unwrap(), None, "{garbage}");
        }
        let row = saved(&state, &me(None, "b", false), |_| {});
        fs::rename(sessions.path().join("codex-b.json"), home.path().join("b")).unwrap();
        symlink(home.path().join("b"), sessions.path().join("codex-b.json")).unwrap();
        assert_eq!(load(&state, "codex", "b").unwrap(), None, "a link");
        save(&state, &row).unwrap();
        fs::copy(sessions.path().join("codex-b.json"), sessions.path().join("codex-c.json")).unwrap();
        assert_eq!(load(&state, "codex", "c").unwrap(), None, "the row of another session");
    }

    #[test]
    fn no_change_is_lost_among_many() {
        let (_home, state) = home();
        saved(&state, &me(None, "a", false), |row| row.task = Some(String::new()));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        // As long as it takes: a loaded machine is no reason to go on without the others.
                        let push = |row: &mut Row| row.task.as_mut().unwrap().push('x');
                        update_within(Duration::from_secs(60), &state, "codex", "a", push).unwrap();
                    }
                });
            }
        });
        assert_eq!(load(&state, "codex", "a").unwrap().unwrap().task.unwrap().len(), 40);
        assert_eq!(update(&state, "codex", "none", |_| {}).unwrap(), None);
    }

    #[test]
    fn other_live_sessions_are_told_and_nothing_else() {
        let (_home, state) = home();
        let process = this_process();
        let dead = Identity { start_time: 1, ..process.clone() };
        let parent = Identity::of(nix::unistd::getppid().as_raw()).unwrap();
        let asking = me(Some(process.clone()), "mine", false);
        saved(&state, &asking, |_| {});
        saved(&state, &me(Some(process.clone()), "before-clear", false), |_| {});
        saved(&state, &me(Some(parent.clone()), "other", false), |_| {});
        saved(&state, &me(Some(parent.clone()), "ended", false), |row| row.lifecycle = Lifecycle::Ended);
        saved(&state, &me(Some(dead), "dead", false), |_| {});
        state.sub(FOLDER).unwrap().write_atomic("codex-garbage.json", b"{").unwrap();
        assert_eq!(seen(&state, &asking), ["other"]);
        assert_eq!(seen(&state, &Me { session: None, ..asking }), ["other"]);
    }

    #[test]
    fn sessions_of_one_shared_process_are_told_by_their_events() {
        let (_home, state) = home();
        let process = Some(this_process());
        let asking = me(process.clone(), "mine", true);
        let old = |row: &mut Row| row.last_event = "2020-01-01T00:00:00Z".to_owned();
        saved(&state, &asking, |_| {});
        saved(&state, &me(process.clone(), "other", true), |_| {});
        saved(&state, &me(process.clone(), "silent", true), old);
        saved(&state, &me(None, "unseen", false), |_| {});
        saved(&state, &me(None, "unseen-silent", false), old);
        let mut found = seen(&state, &asking);
        found.sort();
        assert_eq!(found, ["other", "unseen"]);
    }

    #[test]
    fn a_session_that_cannot_be_seen_is_told_by_its_events() {
        let (_home, state) = home();
        let dead = Identity { start_time: 1, ..this_process() };
        saved(&state, &me(Some(dead.clone()), "elsewhere", false), |row| row.host = "elsewhere".to_owned());
        saved(&state, &me(Some(dead), "silent", false), |row| {
            row.host = "elsewhere".to_owned();
            row.last_event = "2020-01-01T00:00:00Z".to_owned();
        });
        assert_eq!(seen(&state, &me(Some(this_process()), "mine", false)), ["elsewhere"]);
    }

    #[test]
    fn a_resumed_session_has_the_process_of_now() {
        let (_home, state) = home();
        let process = this_process();
        let before = Identity { start_time: 1, ..process.clone() };
        let mut row = saved(&state, &me(Some(before), "a", false), |_| {});
        row.saw_event(&me(Some(process.clone()), "a", false), Timestamp::now());
        assert_eq!(row.process, Some(process.clone()));
        row.saw_event(&me(None, "a", false), Timestamp::now());
        assert_eq!(row.process, Some(process), "an event that cannot see it takes nothing away");
    }
}
