//! Firing an event at the extensions of Pi or the plugins of OpenCode: in a Node host that lives as long as the session.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{FireError, Simulator, placed};
use crate::harness::{self, Begun, Harness, Hosted, Modules, Place, Play, Scene};
use crate::launch::{Ended, Exit, HookRun, LaunchError, Node, Program, Shared, node};
use crate::recording::Recording;
use crate::report::{Effect, Firing, Kind, duration};

/// How long an event may take, unless told otherwise. The harnesses themselves wait for ever.
const BOUND: Duration = Duration::from_secs(60);

/// What of an earlier event belongs to this one, too: that it went wrong, or that nobody reads a name.
const WRONG: &[&str] = &["error", "crash", "abandoned", "not_run", "odd"];

/// A Node host, and what has been in it.
#[derive(Debug)]
pub(super) struct Hosting {
    node: Node,
    /// The sessions that there are in it.
    sessions: Vec<String>,
    has_started: bool,
}

impl Simulator {
    /// The JavaScript that this harness would load here; `None` for one that starts commands.
    pub(crate) fn modules(&self) -> Option<Modules> {
        let hosted = self.harness.hosted()?;
        let place = Place { project: &self.project, home: self.home.as_deref(), trusted: self.trusted };
        let variable = |name: &str| -> Option<OsString> {
            self.set.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        Some(hosted.modules(place, &variable))
    }

    pub(super) fn fire_hosted(
        &mut self,
        recording: &Recording,
        mut firing: Firing,
    ) -> Result<Firing, FireError> {
        let (Some(hosted), Some(modules)) = (self.harness.hosted(), self.modules()) else {
            return Ok(firing);
        };
        let started = Instant::now();
        firing.warnings.extend(modules.warnings);
        if modules.files.is_empty() {
            return Ok(firing);
        }
        let shared = self.prepare()?;
        let payload = placed(&self.placing(&shared), recording, &self.options).payload;
        let (project, session) = (self.project.clone(), self.session_id.clone());
        let begun = self.hosted.as_ref().map(|hosting| hosting.begun(&session)).unwrap_or_default();
        let mut scene = Scene {
            recording,
            payload: &payload,
            files: &modules.files,
            project: &project,
            session: &session,
            begun,
        };
        let mut play = match hosted.play(scene) {
            Ok(play) => play,
            Err(why) => {
                firing.not_applicable = Some(why);
                return Ok(firing);
            }
        };
        // A second start is another process.
        if begun.process && play.order["do"] == "start" {
            self.end_hosted();
            scene.begun = Begun::default();
            play = hosted.play(scene).unwrap_or(play);
        }
        let mut hosting = if let Some(hosting) = self.hosted.take() {
            hosting
        } else {
            let Some(node) = node() else {
                firing.not_run = Some(format!(
                    "{} runs its hooks in its own process, which is played with Node, and node is not on PATH",
                    self.harness.name()
                ));
                return Ok(firing);
            };
            let program = self.program(hosted, scene, &shared);
            Hosting { node: Node::start(&shared, &node, program)?, sessions: Vec::new(), has_started: false }
        };
        let bound = self.options.timeout.unwrap_or(BOUND);
        let (lines, ended) = hosting.play(&play, Instant::now() + bound).map_err(LaunchError::Host)?;
        if let Some(why) = harness::not_here(&lines) {
            firing.not_run = Some(why);
            hosting.node.close(&shared, self.patience);
            return Ok(firing);
        }
        firing.effects = hosted.read(scene, &lines);
        firing.warnings.extend(harness::doubts(self.harness, &lines));
        let stderr = hosting.node.said_on_stderr();
        // What went wrong inside has been said already.
        if !firing.has(Kind::Failed)
            && let Some(why) = trouble(ended, play.ends, bound, &stderr)
        {
            firing.effects.push(Effect::because(Kind::Failed, why));
        }
        firing.survivors = hosting.node.new_survivors();
        firing.elapsed = started.elapsed();
        firing.commands = modules.files.iter().map(|file| loaded(file, &firing, bound, ended)).collect();
        self.hosted = Some(hosting);
        if play.ends || ended != Ended::Done {
            self.end_hosted();
        }
        Ok(firing)
    }

    fn program(&self, hosted: &'static dyn Hosted, scene: Scene<'_>, shared: &Shared) -> Program {
        let version = scene.recording.version;
        Program {
            files: hosted.program(version),
            arguments: hosted.arguments(scene),
            project: self.project.clone(),
            environment: self.environment(shared, version),
            declared: self.declared(shared),
        }
    }

    /// The first prompt behind a session open of Pi or OpenCode that gave the model nothing by itself.
    pub(crate) fn prompt_behind(&mut self, open: &Firing) -> Result<Option<Firing>, FireError> {
        let prompt = match (self.harness, open.event.as_str()) {
            (Harness::Pi, "session_start") => "before_agent_start",
            (Harness::OpenCode, "event.session.created") => "hook.chat.message",
            _ => return Ok(None),
        };
        if self.hosted.is_none() || open.has(Kind::Context) {
            return Ok(None);
        }
        self.fire(prompt).map(Some)
    }

    /// Ends the host, where there is one.
    pub(super) fn end_hosted(&mut self) {
        if let (Some(hosting), Some(shared)) = (self.hosted.take(), &self.shared) {
            hosting.node.close(shared, self.patience);
        }
    }
}

impl Hosting {
    /// Has an event played, and what has to have been before it; what was said.
    fn play(&mut self, play: &Play, until: Instant) -> std::io::Result<(Vec<Value>, Ended)> {
        let (mut lines, ended) = self.play_all(play, until)?;
        lines.extend(self.node.printed()?);
        Ok((lines, ended))
    }

    fn play_all(&mut self, play: &Play, until: Instant) -> std::io::Result<(Vec<Value>, Ended)> {
        let mut lines = Vec::new();
        for order in &play.before {
            let (mut said, mut ended) = self.node.order(order, until)?;
            if ended == Ended::Done {
                self.note(order);
                let (more, settled) = self.node.settle(until)?;
                said.extend(more);
                ended = settled;
            }
            // What came of it belongs to another firing, unless it went wrong.
            said.retain(|line| WRONG.iter().any(|key| line.get(key).is_some()));
            lines.extend(said);
            if ended != Ended::Done {
                return Ok((lines, ended));
            }
        }
        self.node.printed()?;
        let (said, ended) = self.node.order(&play.order, until)?;
        lines.extend(said);
        if ended != Ended::Done {
            return Ok((lines, ended));
        }
        self.note(&play.order);
        let (said, ended) = if play.ends { self.node.finish(until)? } else { self.node.settle(until)? };
        lines.extend(said);
        // One that is to end is gone when all is well.
        Ok((lines, if play.ends && ended == Ended::Gone { Ended::Done } else { ended }))
    }

    fn note(&mut self, order: &Value) {
        self.has_started |= order["do"] == "start";
        if order["do"] == "session" {
            self.sessions.extend(order["session"].as_str().map(str::to_owned));
        }
    }

    fn begun(&self, session: &str) -> Begun {
        Begun { process: self.has_started, session: self.sessions.iter().any(|known| known == session) }
    }
}

/// What is wrong with how it ended.
fn trouble(ended: Ended, ends: bool, bound: Duration, stderr: &str) -> Option<String> {
    let why = match ended {
        Ended::Done => return None,
        Ended::Gone => "the harness's process ended in the middle".to_owned(),
        Ended::Late if ends => {
            format!("the harness did not end within {}: something holds it", duration(bound))
        }
        Ended::Late => {
            format!("its handlers, or what they had started, did not end within {}", duration(bound))
        }
    };
    Some(crate::harness::with_stderr(why, stderr.as_bytes()))
}

/// A file that was loaded, in the place of a command.
fn loaded(file: &Path, firing: &Firing, deadline: Duration, ended: Ended) -> HookRun {
    HookRun {
        command: file.display().to_string(),
        exit: Exit::Code { code: i32::from(firing.has(Kind::Failed)) },
        elapsed: firing.elapsed,
        deadline,
        timed_out: ended == Ended::Late,
        stdout_bytes: 0,
        stderr_bytes: 0,
        stdin_bytes: 0,
        stdout_eof: true,
        signalled: false,
        holders: Vec::new(),
        stdout: Vec::new(),
        stderr: Vec::new(),
    }
}
