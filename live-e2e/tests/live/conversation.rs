//! A conversation with a CLI as a person has it: prompts, `/clear`, `/compact`, and the end. In a terminal it is typed; Pi
//! takes lines of JSON.

use std::time::Duration;

use live_e2e::model::Request;
use live_e2e::{Agent, Desk, How, Opens, Ran, Session};
use serde_json::json;

/// How long a CLI may take from a prompt to its request.
const ANSWER: Duration = Duration::from_secs(40);

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
        let how = How { deadline: Duration::from_secs(90), ..How::opening(opens) };
        let mut session = desk.speak(&how).unwrap();
        match agent {
            Agent::Claude => drop(expect(&mut session, "shortcuts|bypass|Try|auto mode")),
            Agent::Codex => drop(expect(&mut session, "Ctrl|context|shortcuts|/model")),
            Agent::OpenCode => drop(expect(&mut session, "Ask anything|commands")),
            Agent::Grok => drop(expect(&mut session, "help|shortcuts|Shift")),
            Agent::Pi | Agent::Cursor => {}
        }
        Self { agent, desk, session, said: 0 }
    }

    /// Says something, and waits until the model has answered; the first request that came of it.
    pub(crate) fn say(&mut self, script: &str) -> Request {
        self.said += 1;
        let (mark, answer) = (format!("prompt-{}", self.said), format!("answer-{}", self.said));
        let before = self.desk.model.requests().len();
        self.enter(&format!("{mark} {script} @@say {answer}@@"));
        let is_it = |request: &Request| request.offers_tools() && request.context().contains(&mark);
        let came = self.desk.model.wait_for(ANSWER, |requests| requests[before..].iter().any(is_it));
        let found = came[before..].iter().find(|request| is_it(request)).cloned();
        // Not the prompt as it is drawn, which has it, too.
        let end = if self.agent == Agent::Pi {
            "\"type\":\"agent_settled\""
        } else {
            &format!("{}[^@0-9]", spaced(&answer))
        };
        expect(&mut self.session, end);
        found.unwrap_or_else(|| panic!("no request came of {mark:?}"))
    }

    /// Forgets the conversation.
    pub(crate) fn clear(&mut self) {
        match self.agent {
            Agent::Pi => self.order("new_session"),
            Agent::OpenCode | Agent::Grok => self.enter("/new"),
            _ => self.enter("/clear"),
        }
    }

    /// Sums the conversation up, and waits until that is done.
    pub(crate) fn compact(&mut self) {
        match self.agent {
            Agent::Pi => self.order("compact"),
            _ => {
                self.enter("/compact");
                expect(&mut self.session, "ompacted|ompaction");
            }
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
        screen.send(line).unwrap();
        screen.flush().unwrap();
        // What comes all at once is taken for a paste, and its end for a line of it.
        let last = line.rsplit(' ').next().unwrap_or(line);
        expect(&mut self.session, &spaced(last));
        let screen = &mut self.session.screen;
        screen.send("\r").unwrap();
        screen.flush().unwrap();
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
fn expect(session: &mut Session<'_>, regex: &str) -> String {
    match session.screen.exp_regex(regex) {
        Ok((_, found)) => found,
        Err(error) => {
            let said = error.to_string();
            let end: Vec<char> = said.chars().rev().take(4000).collect();
            panic!("{regex:?} did not come: {}", end.into_iter().rev().collect::<String>())
        }
    }
}
