//! A session opens: the digest, the digest again, or a word to the model to run it.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dogwatch_engine::process::{Bounds, Deadline, Engine, Interrupts};
use jiff::tz::TimeZone;

use super::call::{Call, Out};
use super::place::{Home, Place};
use super::route::{Action, route};
use super::wake::Harvest;
use super::{answer, say, session};
use crate::config::{BuiltIn, Seconds};
use crate::deferred;
use crate::digest::ground::Ground;
use crate::digest::plan::{self, AtTurn, Facts, Kind};
use crate::digest::run::{Opening, Step, Told};
use crate::digest::{document, instructions};
use crate::env;
use crate::harness::{Budget, Event, EventKind, Reply, Tier};
use crate::home::helm::{self, Claim, Holder, Me};
use crate::home::homes::{Homes, Tracking};
use crate::home::rows::Row;
use crate::home::state::Folder;
use crate::home::trace::Firing;
use crate::home::{baseline, complete, network, retention, rows, welcome};
use crate::text::operational;
use crate::text::{Composition, Visible, line};

/// What the harness's own bound keeps beyond ours.
const MARGIN: Duration = Duration::from_secs(10);
/// Below so short a limit it is half of it.
const SHORT_LIMIT: Duration = Duration::from_secs(20);
/// The bound of the one question to git that comes before everything.
const GIT_BOUND: Duration = Duration::from_secs(3);

pub(super) fn handle(
    call: &Call,
    event: &Event,
    place: &Place,
    home: &Home,
    firing: &mut Firing,
    usable_now: &mut bool,
    out: &mut dyn Out,
) -> u8 {
    let source = call.source.as_deref().or(event.source.as_deref());
    let (me, is_told_by_process) = session::look(call, event);
    if let (Some("clear"), Some(state)) = (source, home.usable_state()) {
        session::succeed(&me, state, place.now);
    }
    let action = match route(source, call.harness.tier) {
        Action::Again { is_compaction } if is_complete(home, &me) => {
            let kind = if is_compaction { Kind::AfterCompact } else { Kind::AfterClear };
            firing.decision = "re-emit".to_owned();
            return Open { call, event, place, home, me, kind, source }.run(firing, usable_now, out);
        }
        Action::Again { .. } => Action::Full,
        action => action,
    };
    match action {
        Action::Full | Action::Again { .. } => {
            firing.decision = "full".to_owned();
            Open { call, event, place, home, me, kind: Kind::Full, source }.run(firing, usable_now, out)
        }
        Action::Nudge { is_silent_at_the_helm: true }
            if home.usable_state().is_some_and(|state| helm::is_mine(state, &me)) =>
        {
            firing.decision = "held".to_owned();
            answer(call, Some(event), out)
        }
        Action::Nudge { .. } => {
            let is_later = call.harness.budget == Budget::Discarded;
            firing.decision = if is_later { "nudge-later" } else { "nudge" }.to_owned();
            // Where its process does not tell which session it is, its own `dogwatch open` has to find it.
            let needs_row = is_later || !is_told_by_process;
            if let (Some(state), true) = (home.usable_state(), needs_row) {
                note_session(state, event, &me, place.now, is_later);
            }
            if is_later {
                return answer(call, Some(event), out);
            }
            say(call, event, EventKind::SessionOpen, &Reply::Context(nudge(home) + "\n"), out).0
        }
        Action::Nothing => answer(call, Some(event), out),
    }
}

fn is_complete(home: &Home, me: &Me) -> bool {
    home.usable_state().is_some_and(|state| complete::is_proven(state, me))
}

/// Keeps the session's row: a new one, or the one that it had.
fn note_session(state: &Folder, event: &Event, me: &Me, now: jiff::Timestamp, is_nudge_owed: bool) {
    let Some(session) = event.session_id.as_deref() else { return };
    let known = rows::update(state, &me.harness, session, |row| {
        row.saw_event(me, now);
        row.lifecycle = rows::Lifecycle::Active;
        row.nudge_owed |= is_nudge_owed;
    });
    if !matches!(known, Ok(Some(_))) {
        let mut row = Row::new(me, session, now);
        row.nudge_owed = is_nudge_owed;
        // What cannot be kept is not known later, and the session goes on.
        let _ = rows::save(state, &row);
    }
}

/// The nudge in this home's words, without a line break.
pub(super) fn nudge(home: &Home) -> String {
    let operational = &home.config.operational;
    let rerun = operational.rerun.clone().unwrap_or_else(|| format!("{} open", own_command()));
    operational::nudge(&operational.label, &rerun)
}

/// How this program is called: by its bare name where that is found, else by its path.
fn own_command() -> String {
    let own = std::env::current_exe().ok().filter(|_| !env::is_on_path("dogwatch"));
    own.map_or_else(|| "dogwatch".to_owned(), |path| shell_word(&path.to_string_lossy()))
}

/// A path as a shell takes it for one word, and as it can stand between backticks.
fn shell_word(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if path.chars().all(plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''").replace('`', ""))
    }
}

/// One digest of one session.
pub(super) struct Open<'a> {
    pub(super) call: &'a Call,
    pub(super) event: &'a Event,
    pub(super) place: &'a Place,
    pub(super) home: &'a Home,
    pub(super) me: Me,
    pub(super) kind: Kind,
    pub(super) source: Option<&'a str>,
}

/// What is known before the stages start.
pub(super) struct Prepared<'a> {
    pub(super) opening: Opening,
    /// The state folder, where it may be written.
    state: Option<&'a Folder>,
    /// Our own row as the one in charge, if we are.
    holder: Option<Holder>,
    /// Something for a person.
    pub(super) note: Option<String>,
    /// What waited for this session, and is in its digest.
    harvest: Harvest,
}

/// Whether this session is in charge, and if not, why.
enum Charge {
    Ours(Holder),
    ReadOnly(String),
}

impl<'a> Open<'a> {
    fn run(&self, firing: &mut Firing, usable_now: &mut bool, out: &mut dyn Out) -> u8 {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => {
                out.note(&format!("the digest cannot be made: the runtime does not start: {error}"));
                return answer(self.call, Some(self.event), out);
            }
        };
        runtime.block_on(self.open(firing, usable_now, out))
    }

    async fn open(&self, firing: &mut Firing, usable_now: &mut bool, out: &mut dyn Out) -> u8 {
        let engine = match Engine::new().adopt_orphans() {
            Ok(engine) => engine,
            Err(error) => {
                out.note(&format!("the digest cannot be made: {error}"));
                return answer(self.call, Some(self.event), out);
            }
        };
        // From the beginning: a signal that comes while git is asked ends the digest, not this process.
        let interrupts = Interrupts::new();
        let prepared = self.prepare(&engine).await;
        if let Some(note) = &prepared.note {
            out.note(note);
        }
        *usable_now = prepared.state.is_some();
        if prepared.opening.facts.read_only.is_some() {
            firing.rule = Some("read-only".to_owned());
        }
        let opening = &prepared.opening;
        // The Pi extension takes the text as it comes; every other harness takes one answer at the end.
        let streams = self.call.harness.budget == Budget::Unlimited && self.call.harness.tier == Tier::Run;
        let mut is_delivered = true;
        if streams {
            // It becomes a message among those of the person, and has to be told from theirs.
            let header =
                operational::header(&self.home.config.operational.label, operational::Kind::SessionStart);
            is_delivered &= out.write((header + &opening.head()).as_bytes());
        }
        let interrupt = async {
            match interrupts {
                Ok(mut interrupts) => interrupts.next().await.signal,
                Err(_) => std::future::pending().await,
            }
        };
        let told = opening
            .run(engine, interrupt, |step| {
                if let (Step::Text(text), true) = (step, streams) {
                    is_delivered &= out.write(text.as_bytes());
                }
            })
            .await;
        let told = match told {
            Ok(told) => told,
            Err(error) => {
                out.note(&error.to_string());
                let why = format!("\n[digest: {}]\n", line(&error.to_string()));
                if streams {
                    out.write(why.as_bytes());
                    return 0;
                }
                let text = opening.head() + &why;
                return say(self.call, self.event, EventKind::SessionOpen, &Reply::Context(text), out).0;
            }
        };
        let kept_at = prepared.state.and_then(|state| self.keep(state, &told));
        let mut code = 0;
        let mut visible = None;
        if !streams {
            // A path that would not stand on its line as it is cannot be opened from there.
            let whole_at = kept_at.filter(|path| line(path) == path.as_str());
            let whole_at = whole_at.unwrap_or_else(|| format!("run `{} open`", own_command()));
            let budget = match self.call.harness.budget {
                Budget::Utf16(limit) => Visible::Utf16(limit),
                Budget::Bytes(limit) => Visible::Bytes(limit),
                Budget::Unlimited | Budget::Discarded => Visible::All,
            };
            let composition =
                Composition { head: &told.head, parts: &told.parts, tail: &told.tail, whole_at: &whole_at };
            let composed = composition.fit(budget);
            firing.truncated = composed.is_cut;
            visible = Some(composed.text.clone());
            let reply = Reply::Context(composed.text);
            (code, is_delivered) = say(self.call, self.event, EventKind::SessionOpen, &reply, out);
        }
        if told.truncation.is_some() {
            firing.truncated = true;
        }
        self.conclude(&prepared, &told, is_delivered, visible.as_deref());
        code
    }

    /// Finds out everything that has to be known before the stages start, and takes the helm if it is to be had.
    pub(super) async fn prepare(&self, engine: &Engine) -> Prepared<'a> {
        let state = self.writable_state(engine).await;
        let charge = self.charge(state.as_ref().map(|state| *state).map_err(String::as_str));
        let state = state.ok();
        let harvest = Harvest::default();
        let mut opening = self.opening(&charge, state, &harvest);
        if let (Some(state), Charge::Ours(holder)) = (state, &charge) {
            opening.notes.extend(self.defer(engine, state, holder).await);
        }
        let holder = match charge {
            Charge::Ours(holder) => Some(holder),
            Charge::ReadOnly(_) => None,
        };
        let mut note = None;
        if let (Some(state), Some(_), Kind::Full) = (state, &holder, self.kind) {
            // A proof that cannot be taken away is of an older start, and could prove this one.
            if let Err(error) = complete::clear(state) {
                note = Some(format!("the proof of an earlier start cannot be removed: {error}"));
            }
        }
        Prepared { opening, state, holder, note, harvest }
    }

    /// The state folder, if it may be written: it is there, ours, and git does not track it.
    async fn writable_state(&self, engine: &Engine) -> Result<&'a Folder, String> {
        let state = self.home.state()?;
        let tracked = || {
            format!(
                "git tracks {}, which no repository may bring along",
                line(&state.path().to_string_lossy())
            )
        };
        match (self.home.tracking(), &self.place.root.git) {
            (Tracking::Untracked, _) | (_, None) => return Ok(state),
            (Tracking::Tracked | Tracking::Unknown, Some(_)) => {}
        }
        let Some(git) = &self.place.root.git else { return Ok(state) };
        let command = plan::git(&git.top).args(["ls-files", "-z", "--"]).arg(state.path());
        let bound = self.call.limit.map_or(GIT_BOUND, |limit| GIT_BOUND.min(limit / 4));
        let bound = Deadline::new(bound).unwrap_or(Deadline::DEFAULT);
        let answer = match engine.start(&command, &Bounds::new(bound)).await {
            Ok(run) => run.capture().await,
            Err(error) => return Err(format!("whether git tracks its state folder is not known: {error}")),
        };
        if !answer.outcome.success() {
            return Err("whether git tracks its state folder is not known: git ls-files failed".to_owned());
        }
        let is_tracked = !answer.stdout.is_empty();
        if let Some(own_folder) = &self.place.own_folder {
            // What is not noted is asked again.
            let _ = Homes::new(own_folder).note_tracking(&self.place.root.path, state, is_tracked);
        }
        if is_tracked { Err(tracked()) } else { Ok(state) }
    }

    fn charge(&self, state: Result<&Folder, &str>) -> Charge {
        let state = match state {
            Ok(state) => state,
            Err(why) => return Charge::ReadOnly(format!("this home cannot be written: {}", line(why))),
        };
        let now = self.place.now;
        match helm::acquire(state, &self.me, now) {
            Claim::Mine(holder) | Claim::Taken { holder, .. } => Charge::Ours(holder),
            Claim::Held(holder) => {
                Charge::ReadOnly(format!("{} is in charge of this home", describe(&holder)))
            }
            Claim::NotWritable(why) => {
                Charge::ReadOnly(format!("this home cannot be written: {}", line(&why)))
            }
            Claim::Sweeping => Charge::ReadOnly(
                "a sweep that was started for the session before is still at work (`dogwatch network wait` waits for it)"
                    .to_owned(),
            ),
            Claim::Contended => {
                Charge::ReadOnly("many sessions open at once, and none could be asked in time".to_owned())
            }
            Claim::Invisible(why) => {
                Charge::ReadOnly(format!("no session can be in charge from here: {why}"))
            }
        }
    }

    /// Starts the checks that need the network, and returns at once; what is to be known of that.
    async fn defer(&self, engine: &Engine, state: &Folder, holder: &Holder) -> Option<String> {
        // After a compaction the session is told less, and has been told of these.
        if self.kind == Kind::AfterCompact {
            return None;
        }
        let network = &self.home.config.network;
        let asked = env::network_timeout();
        let (deadline, note) =
            Seconds::from_environment(env::NETWORK_TIMEOUT, asked.as_deref(), network.deadline);
        let request = deferred::Request {
            root: &self.place.root.path,
            git: self.place.root.git.as_ref(),
            state,
            helm: holder.identity(),
            network,
            // A session that lost only its context changes nothing.
            sweeps: self.kind == Kind::Full,
            deadline,
            now: self.place.now,
        };
        match deferred::start(engine, &request).await {
            Ok(deferred::Started::Nothing) => None,
            Ok(deferred::Started::Reused | deferred::Started::Fresh) => note,
            Err(why) => Some(format!("the network checks could not be started: {}", line(&why))),
        }
    }

    fn opening(&self, charge: &Charge, state: Option<&Folder>, harvest: &Harvest) -> Opening {
        let read_only = match charge {
            Charge::Ours(_) => None,
            Charge::ReadOnly(why) => Some(why.clone()),
        };
        let config = &self.home.config;
        let asked = env::session_start_timeout();
        let (deadline, note) =
            Seconds::from_environment(env::SESSION_START_TIMEOUT, asked.as_deref(), config.digest.deadline);
        let mut notes = document::notes(&self.home.loaded, self.home.trust, note);
        if self.kind != Kind::Full {
            let left_out = plan::left_out(self.kind);
            let what = if left_out.is_empty() {
                String::new()
            } else {
                format!("; left out: {}", left_out.join(", "))
            };
            notes.push(format!("the start of this session is complete{what}"));
        }
        let is_stale = self
            .call
            .harness
            .stale_carries
            .iter()
            .any(|(name, source)| *name == self.call.name && Some(*source) == self.source);
        // Also where nothing may be written: reading what drifted harms nobody.
        let instructions = self.home.state().ok().filter(|_| is_stale).and_then(|state| {
            let root = &self.place.root.path;
            instructions::text(root, &baseline::drift(state, root, &self.me))
        });
        // What no stage prints stays for the next event that can bring it.
        let prints = |stage| config.digest.external.is_none() && !config.digest.drop.contains(&stage);
        let ours = state.filter(|_| read_only.is_none());
        let waiting =
            ours.filter(|_| prints(BuiltIn::Wakes)).map(|state| harvest.take(state)).unwrap_or_default();
        let wakes: Vec<&str> = waiting.iter().map(|wake| wake.text.as_str()).collect();
        Opening {
            ground: Arc::new(Ground {
                root: self.place.root.path.clone(),
                home: Some(self.home.folder.clone()),
                git: self.place.root.git.clone(),
                profile: env::config_folder().map(|folder| folder.join("profile.md")),
                // Only here: to learn the time zone, its whole database is walked through.
                now: self.place.now.to_zoned_datetime(TimeZone::system()),
                in_terminal: false,
            }),
            config: config.digest.clone(),
            facts: Facts {
                kind: self.kind,
                read_only,
                instructions,
                wakes: (!wakes.is_empty()).then(|| wakes.join("\n\n")),
                network: Some(network_at_turn(&self.home.folder, ours.map(|_| harvest.clone()))),
                work: state.and_then(|state| others(state, &self.me)),
                shows_capabilities: self.call.harness.shows_capabilities,
            },
            notes,
            deadline: bound(deadline, self.call.limit, self.call.begun.elapsed()),
            welcomed: welcome::was_given(self.place.own_folder.as_deref()),
        }
    }

    /// Keeps the full text in the home; where it can be read.
    fn keep(&self, state: &Folder, told: &Told) -> Option<String> {
        let name = document::file_name(&file_session(self.event));
        let folder = state.sub("digest").ok()?;
        folder.write_atomic(&name, told.text().as_bytes()).ok()?;
        Some(folder.path().join(name).to_string_lossy().into_owned())
    }

    /// After everything has been said: the start is complete, and what instructions it saw. `visible` is what the model sees
    /// of it, if that is not the whole.
    pub(super) fn conclude(
        &self,
        prepared: &Prepared<'_>,
        told: &Told,
        is_delivered: bool,
        visible: Option<&str>,
    ) {
        let whole = told.text();
        prepared.harvest.settle(is_delivered.then(|| visible.unwrap_or(&whole)));
        if told.welcomed_now {
            welcome::remember(self.place.own_folder.as_deref());
        }
        let (Some(state), now) = (prepared.state, self.place.now) else { return };
        // Also of a session that only reads: it is there, and the one in charge is told of it.
        note_session(state, self.event, &self.me, now, false);
        retention::sweep(state, self.place.own_folder.as_deref(), now);
        let Some(holder) = &prepared.holder else { return };
        if self.kind != Kind::Full || !told.is_complete() || !is_delivered {
            return;
        }
        // Without the proof the next compaction tells it all once more.
        let _ = complete::write(state, holder);
        if self.source == Some("startup") {
            let _ = baseline::write(state, &self.place.root.path, holder);
        }
    }
}

/// What the stage `network` says when its turn comes. A session in charge is told there and then what has just been found.
fn network_at_turn(home: &Path, harvest: Option<Harvest>) -> AtTurn {
    let home = home.to_owned();
    AtTurn::new(move || {
        let state = Folder::open_state_of(&home).ok()??;
        // First what was found, then how far the run is: the other way round a result could fall between the two.
        let found = harvest.as_ref().map(|harvest| harvest.take(&state)).unwrap_or_default();
        deferred::stage_text(&network::look(&state, jiff::Timestamp::now()).ok()?, &found, harvest.is_some())
    })
}

/// The deadline below the limit that the harness was told, of which so much has been spent on the payload and on git.
fn bound(deadline: Seconds, limit: Option<Duration>, spent: Duration) -> Seconds {
    let Some(limit) = limit else { return deadline };
    let most = if limit < SHORT_LIMIT { limit / 2 } else { limit.saturating_sub(MARGIN) };
    // The next whole second: what an ordinary start spends is within the margin.
    let most = most.saturating_sub(Duration::from_secs(spent.as_secs()));
    let most = u32::try_from(most.as_secs().max(1)).ok().and_then(Seconds::new).unwrap_or(Seconds::MAX);
    deadline.min(most)
}

fn describe(holder: &Holder) -> String {
    let session = holder.session.as_deref().map(|id| format!(", session {}", line(id))).unwrap_or_default();
    format!(
        "{} (process {}{session}, since {})",
        line(&holder.harness),
        holder.process.pid,
        line(&holder.since)
    )
}

/// The other sessions of this home, for the stage `work`.
fn others(state: &Folder, me: &Me) -> Option<String> {
    let mut text = String::new();
    for row in rows::live_others(state, me).iter().take(10) {
        let name = row.name.as_deref().unwrap_or("a session");
        let task = row.task.as_deref().map(|task| format!(": {}", line(task))).unwrap_or_default();
        let _ =
            writeln!(text, "{} in {}, since {}{task}", line(name), line(&row.harness), line(&row.opened_at));
    }
    (!text.is_empty()).then_some(text)
}

/// The session as a file name.
fn file_session(event: &Event) -> String {
    event.session_id.clone().unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests;
