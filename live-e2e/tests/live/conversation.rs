//! A conversation with a CLI as a person has it: prompts, `/clear`, `/compact`, and the end. In a terminal it is typed; Pi
//! takes lines of JSON.

use std::time::{Duration, Instant};

use live_e2e::model::Request;
use live_e2e::{Agent, Desk, How, Opens, Ran, Session};
use serde_json::json;

use crate::gate::{BOUND, wait_until};

/// A conversation.
pub(crate) struct Conversation<'desk> {
    agent: Agent,
    desk: &'desk Desk,
    session: Session<'desk>,
    said: usize,
}

impl<'desk> Conversation<'desk> {
    /// Opens a session and waits until it can be spoken to.
    pub(crate) fn open(agent: Agent, desk: &'desk Desk, opens: Opens) -> Self {
        Self::begin(agent, desk, How::opening(opens))
    }

    /// Opens a session in this way, and waits until it can be spoken to.
    pub(crate) fn begin(agent: Agent, desk: &'desk Desk, how: How) -> Self {
        let how = How { deadline: Duration::from_mins(5), ..how };
        let mut session = desk.speak(&how).unwrap();
        match agent {
            Agent::Claude => drop(expect(&mut session, "shortcuts|bypass|Try|auto mode|for agents")),
            Agent::Codex => drop(expect(&mut session, "Ctrl|context|shortcuts|/model")),
            Agent::OpenCode => drop(expect(&mut session, "Ask anything|commands")),
            Agent::Grok => drop(expect(&mut session, "help|shortcuts|Shift")),
            Agent::Pi | Agent::Cursor => {}
        }
        Self { agent, desk, session, said: 0 }
    }

    /// Says something, and waits until the model has answered; the turns that came of it.
    pub(crate) fn say(&mut self, script: &str) -> Vec<Request> {
        self.said += 1;
        let (mark, answer) = (format!("prompt-{}", self.said), format!("answer-{}", self.said));
        let before = self.desk.model.requests().len();
        self.enter(&format!("{mark} {script} @@say {answer}@@"));
        let of_this = |requests: &[Request]| -> Vec<Request> {
            let is_it = |request: &&Request| request.offers_tools() && request.context().contains(&mark);
            requests[before..].iter().filter(is_it).cloned().collect()
        };
        // The last turn is the one that has the results of all the tools.
        let turns = 1 + script.matches("@@tool ").count();
        let came = of_this(&self.desk.model.wait_for(BOUND, |requests| of_this(requests).len() >= turns));
        assert!(
            came.len() >= turns,
            "{} of {turns} requests came of {mark:?}; drawn: {}",
            came.len(),
            self.drawn()
        );
        self.settle(&answer);
        came
    }

    /// Says something of which it is open whether the model is ever asked; what is drawn, without blanks, until it fits.
    pub(crate) fn say_until(&mut self, line: &str, fits: impl Fn(&str) -> bool) -> String {
        self.enter(line);
        let until = Instant::now() + BOUND;
        let mut seen = String::new();
        while !fits(&seen) && Instant::now() < until {
            seen.extend(self.drawn().chars().filter(|letter| !letter.is_whitespace()));
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(fits(&seen), "{seen}");
        seen
    }

    /// Presses keys, and again as long as nothing comes of it: a question that has just been put takes none.
    pub(crate) fn press_until(&mut self, keys: &str, fits: impl Fn() -> bool) -> bool {
        let until = Instant::now() + BOUND;
        let mut pressed: Option<Instant> = None;
        while !fits() {
            if Instant::now() > until {
                return false;
            }
            if pressed.is_none_or(|at| at.elapsed() > Duration::from_secs(1)) {
                self.press(keys);
                pressed = Some(Instant::now());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    fn press(&mut self, keys: &str) {
        self.session.screen.send(keys).unwrap();
        self.session.screen.flush().unwrap();
    }

    /// What was drawn since somebody last waited for something.
    fn drawn(&mut self) -> String {
        std::iter::from_fn(|| self.session.screen.try_read()).filter(char::is_ascii).collect()
    }

    /// Waits until the CLI is done with what it was told.
    fn settle(&mut self, answer: &str) {
        match self.agent {
            Agent::Pi => drop(expect(&mut self.session, "\"type\":\"agent_settled\"")),
            // Both draw only what has changed, so a word may come without the letters that were there before. Codex
            // tells its terminal how it stands.
            Agent::Codex => drop(expect(&mut self.session, "tate=done:app=codex")),
            Agent::OpenCode => {
                let (said, desk) = (self.said, self.desk);
                let stops = || desk.trace().iter().filter(|line| line["moment"] == "stop").count();
                assert!(wait_until(|| stops() >= said), "the stop of prompt {said} did not come");
            }
            // Not the prompt as it is drawn, which has it, too.
            _ => drop(expect(&mut self.session, &format!("{}[^@0-9]", spaced(answer)))),
        }
    }

    /// Forgets the conversation.
    pub(crate) fn clear(&mut self) {
        match self.agent {
            Agent::Pi => self.order("new_session"),
            Agent::OpenCode => self.enter("/new"),
            Agent::Grok => {
                self.enter("/new");
                // What is typed before that is lost.
                expect(&mut self.session, "switch between sessions");
            }
            _ => self.enter("/clear"),
        }
    }

    /// Takes another session up again, by its id.
    pub(crate) fn resume(&mut self, id: &str) {
        if self.agent != Agent::Pi {
            self.enter(&format!("/resume {id}"));
            // What was said in it is drawn anew.
            expect(&mut self.session, &spaced("answer-1"));
            return;
        }
        let sessions = self.desk.home().join(".pi/agent/sessions");
        let folders = std::fs::read_dir(sessions).unwrap().flatten();
        let mut files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten());
        let file = files.find(|file| file.file_name().to_string_lossy().contains(id)).unwrap().path();
        let order = json!({"type": "switch_session", "sessionPath": file});
        self.session.screen.send_line(&order.to_string()).unwrap();
        expect(&mut self.session, "\"command\":\"switch_session\",\"success\":true");
    }

    /// Sums the conversation up, and waits until that is done.
    pub(crate) fn compact(&mut self) {
        if self.agent == Agent::Pi {
            self.order("compact");
            return;
        }
        self.enter("/compact");
        if self.agent == Agent::OpenCode {
            let desk = self.desk;
            let is_told = || desk.trace().iter().any(|line| line["source"] == "compact");
            assert!(wait_until(is_told), "no compaction came");
        } else {
            expect(&mut self.session, "ompacted|ompaction");
        }
    }

    /// Leaves; what came of the CLI.
    pub(crate) fn leave(self) -> Ran {
        self.session.close().unwrap()
    }

    /// Types a line and sends it off.
    fn enter(&mut self, line: &str) {
        let screen = &mut self.session.screen;
        if self.agent == Agent::Pi {
            screen.send_line(&json!({"type": "prompt", "message": line}).to_string()).unwrap();
            return;
        }
        self.press(line);
        // A word may be drawn in part here, too; what is a command stands there twice.
        let is_seen = self.agent != Agent::OpenCode || line.starts_with('/');
        // What comes all at once is taken for a paste, and its end for a line of it.
        let last = line.rsplit(' ').next().unwrap_or(line);
        if is_seen {
            expect(&mut self.session, &spaced(last));
        }
        self.press("\r");
    }

    /// An order to Pi, and its answer.
    fn order(&mut self, order: &str) {
        self.session.screen.send_line(&json!({"type": order}).to_string()).unwrap();
        let answer =
            format!("\"type\":\"response\",\"command\":\"{order}\",\"success\":(true|false)[^\n]*\n");
        let found = expect(&mut self.session, &answer);
        assert!(found.contains("\"success\":true"), "{found}");
    }
}

/// A text as it is drawn: between its letters there may be what moves the cursor.
fn spaced(text: &str) -> String {
    let letters: Vec<String> = text.chars().filter(char::is_ascii_alphanumeric).map(String::from).collect();
    letters.join("[^a-zA-Z0-9]*")
}

/// Waits until it is drawn.
pub(crate) fn expect(session: &mut Session<'_>, regex: &str) -> String {
    match session.screen.exp_regex(regex) {
        Ok((_, found)) => found,
        Err(error) => {
            // What is drawn without letters says nothing here.
            let said = error.to_string();
            let letters = said.split("\\u{").map(|part| part.split_once('}').map_or(part, |(_, rest)| rest));
            let said: Vec<char> = letters.collect::<String>().chars().filter(char::is_ascii).collect();
            panic!(
                "{regex:?} did not come: {}",
                said[said.len().saturating_sub(4000)..].iter().collect::<String>()
            )
        }
    }
}
