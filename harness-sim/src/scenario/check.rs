//! Whether a step came to what was expected of it; every difference is a sentence for a person.

use super::expect::{ExitIs, Expect, KINDS, Then, Wanted};
use crate::launch::{Exit, HookRun};
use crate::report::{Delivered, Effect, Firing, Kind, Unmet, duration};
use crate::sequence::{Course, Ends, Played};

/// How much of a text is shown in a sentence.
const SHOWN_CHARACTERS: usize = 100;

/// What is different.
pub(super) fn check(expect: &Expect, course: &Course) -> Vec<Unmet> {
    let mut found = Found { line: expect.line, unmet: Vec::new() };
    let Some(named) = course.played.get(course.named) else { return found.unmet };
    found.firing(expect, &named.firing);
    found.course(expect, course);
    found.unmet
}

/// What is expected of a step of which nothing is said: hooks that do their work.
pub(super) fn check_unspoken(line: usize, course: &Course) -> Vec<Unmet> {
    let mut found = Found { line, unmet: Vec::new() };
    let expect = Expect { line, ..Expect::default() };
    if let Some(named) = course.played.get(course.named) {
        found.is_heard(&expect, &named.firing);
    }
    for played in &course.played {
        found.faults(&expect, played, "");
    }
    found.unmet
}

struct Found {
    line: usize,
    unmet: Vec<Unmet>,
}

impl Found {
    fn differs(&mut self, expected: impl Into<String>, found: impl Into<String>) {
        self.unmet.push(Unmet {
            file: String::new(),
            line: self.line,
            expected: expected.into(),
            found: found.into(),
        });
    }

    fn equal<T: Copy + PartialEq + std::fmt::Display>(&mut self, what: &str, wanted: Option<T>, is: T) {
        if let Some(wanted) = wanted.filter(|wanted| *wanted != is) {
            self.differs(format!("{what}: {wanted}"), is.to_string());
        }
    }

    fn firing(&mut self, expect: &Expect, firing: &Firing) {
        self.equal("hooks that take the event", expect.commands, firing.commands.len());
        self.is_heard(expect, firing);
        if let Some(exits) = &expect.exit {
            self.exits(exits, &firing.commands);
        }
        let timed_out = firing.commands.iter().any(|run| run.timed_out);
        self.equal("a hook times out", expect.timed_out, timed_out);
        let eof = firing.commands.iter().all(|run| run.stdout_eof);
        self.equal("stdout is at its end when the harness goes on", expect.stdout_eof, eof);
        if let Some(most) = expect.within.filter(|most| firing.elapsed > *most) {
            self.differs(format!("within {}", duration(most)), duration(firing.elapsed));
        }
        if let Some(least) = expect.at_least.filter(|least| firing.elapsed < *least) {
            self.differs(format!("at least {}", duration(least)), duration(firing.elapsed));
        }
        self.equal("processes left behind, undeclared", expect.leaks, firing.leaks().count());
        self.equal("processes left behind", expect.survivors, firing.survivors.len());
        if let Some(silent) = expect.silent {
            let noticed: Vec<&Effect> =
                firing.effects.iter().filter(|effect| effect.kind != Kind::Ran).collect();
            if silent != noticed.is_empty() {
                let wanted = if silent {
                    "nothing of the hook is noticed"
                } else {
                    "something of the hook is noticed"
                };
                self.differs(wanted, what_there_is(&noticed));
            }
        }
        for (kind, wanted) in &expect.kinds {
            self.kind(*kind, wanted, firing);
        }
        if expect.only {
            let others: Vec<&Effect> =
                firing.effects.iter().filter(|effect| expect.of_kind(effect.kind).is_none()).collect();
            if !others.is_empty() {
                self.differs("only what is named", what_there_is(&others));
            }
        }
        for note in &expect.notes {
            if !firing.warnings.iter().any(|warning| warning.contains(note.as_str())) {
                let there = if firing.warnings.is_empty() {
                    "there is no note".to_owned()
                } else {
                    firing.warnings.iter().map(|note| shown(note)).collect::<Vec<_>>().join("; ")
                };
                self.differs(format!("a note with {note:?}"), there);
            }
        }
    }

    /// Nobody who hears the event is never expected, unless it is named.
    fn is_heard(&mut self, expect: &Expect, firing: &Firing) {
        if firing.commands.is_empty() && expect.commands.is_none() {
            self.differs(
                format!("a hook that takes {}", firing.event),
                "none does (`expect = { commands = 0 }` expects that)",
            );
        }
    }

    /// The faults that are never expected unless they are named.
    fn faults(&mut self, expect: &Expect, played: &Played, whose: &str) {
        let firing = &played.firing;
        if expect.of_kind(Kind::Failed).is_none() {
            let failed: Vec<&Effect> = firing.of(Kind::Failed).collect();
            if !failed.is_empty() {
                self.differs(format!("{whose}no hook fails"), what_there_is(&failed));
            }
        }
        let leaks: Vec<String> = firing.leaks().map(|leak| shown(&leak.command_line)).collect();
        if expect.leaks.is_none() && expect.survivors.is_none() && !leaks.is_empty() {
            self.differs(format!("{whose}no process is left behind"), leaks.join("; "));
        }
    }

    fn exits(&mut self, wanted: &[ExitIs], runs: &[HookRun]) {
        if wanted.len() > 1 && wanted.len() != runs.len() {
            self.differs(format!("{} hooks, as `exit` has", wanted.len()), runs.len().to_string());
            return;
        }
        for (at, run) in runs.iter().enumerate() {
            let Some(wanted) = wanted.get(at).or(wanted.first()) else { return };
            let is = match (&run.exit, wanted) {
                (Exit::Code { code }, ExitIs::Code(wanted)) => code == wanted,
                (Exit::Signal { name, .. }, ExitIs::Word(wanted)) => name == wanted,
                (Exit::NotStarted { .. }, ExitIs::Word(wanted)) => wanted == "not started",
                _ => false,
            };
            if !is {
                let wanted = match wanted {
                    ExitIs::Code(code) => format!("exit {code}"),
                    ExitIs::Word(word) => word.clone(),
                };
                let is = match &run.exit {
                    Exit::Code { code } => format!("exit {code}"),
                    Exit::Signal { name, .. } => name.clone(),
                    Exit::NotStarted { why } => format!("not started: {why}"),
                };
                self.differs(format!("{} ends with {wanted}", shown(&run.command)), is);
            }
        }
    }

    fn kind(&mut self, kind: Kind, wanted: &Wanted, firing: &Firing) {
        let there: Vec<&Effect> = firing.of(kind).collect();
        let met = there.iter().filter(|effect| wanted.is_met_by(effect)).count();
        let is_met = match (wanted.is_there, wanted.count) {
            (Some(false), _) => there.is_empty(),
            (_, Some(count)) => met == count,
            _ => met > 0,
        };
        if is_met {
            return;
        }
        let is = if there.is_empty() && wanted.is_there != Some(false) {
            let all: Vec<&Effect> = firing.effects.iter().collect();
            format!("there is none; there is: {}", what_there_is(&all))
        } else {
            what_there_is(&there)
        };
        self.differs(wanted.sentence(kind), is);
    }

    fn course(&mut self, expect: &Expect, course: &Course) {
        for (at, played) in course.played.iter().enumerate() {
            let is_spoken_of = expect.then.iter().any(|then| then.event == played.firing.event);
            if at == course.named || !is_spoken_of {
                let whose =
                    if at == course.named { String::new() } else { format!("{}: ", played.firing.event) };
                self.faults(expect, played, &whose);
            }
        }
        let names: Vec<&str> = course.played.iter().map(|played| played.firing.event.as_str()).collect();
        if let Some(events) = expect.events.as_ref().filter(|events| **events != names) {
            self.differs(format!("the events {}", events.join(", ")), names.join(", "));
        }
        let mut at = 0;
        for then in &expect.then {
            match course
                .played
                .iter()
                .enumerate()
                .skip(at)
                .find(|(place, played)| *place != course.named && played.firing.event == then.event)
            {
                Some((place, played)) => {
                    at = place + 1;
                    self.then(then, played);
                }
                None => self.differs(
                    format!("{} comes of {}", then.event, course.played[course.named].firing.event),
                    format!("there is: {}", names.join(", ")),
                ),
            }
        }
        let refused = usize::try_from(course.refused).unwrap_or(usize::MAX);
        self.equal("refusals that are obeyed", expect.refused, refused);
        if let Some(ends) = expect.ends.filter(|ends| Some(*ends) != course.ends) {
            let is = course.ends.map_or("this event is no stop", ends_name);
            self.differs(format!("the stop ends {}", ends_name(ends)), is);
        }
        self.equal("the open and the prompt run beside each other", expect.beside, course.is_beside);
    }

    fn then(&mut self, then: &Then, played: &Played) {
        let line = std::mem::replace(&mut self.line, then.expect.line);
        let before = self.unmet.len();
        self.firing(&then.expect, &played.firing);
        self.faults(&then.expect, played, "");
        for unmet in &mut self.unmet[before..] {
            unmet.expected = format!("{}: {}", then.event, unmet.expected);
        }
        self.line = line;
    }
}

impl Wanted {
    fn is_met_by(&self, effect: &Effect) -> bool {
        let why = effect.why.as_deref().unwrap_or_default();
        let text = effect.text.as_deref().unwrap_or(why);
        self.contains.iter().all(|part| text.contains(part.as_str()))
            && !self.lacks.iter().any(|part| text.contains(part.as_str()))
            && self.why.iter().all(|part| why.contains(part.as_str()))
            && self.delivered.is_none_or(|delivered| effect.delivered == Some(delivered))
            && self
                .bytes
                .is_none_or(|(least, most)| effect.bytes.is_some_and(|bytes| (least..=most).contains(&bytes)))
    }

    fn sentence(&self, kind: Kind) -> String {
        let name = name(kind);
        if self.is_there == Some(false) {
            return format!("no `{name}`");
        }
        let mut words = vec![match self.count {
            Some(count) => format!("{count} times `{name}`"),
            None => format!("`{name}`"),
        }];
        words.extend(self.contains.iter().map(|part| format!("with {:?}", shown(part))));
        words.extend(self.lacks.iter().map(|part| format!("without {:?}", shown(part))));
        words.extend(self.why.iter().map(|part| format!("because of {:?}", shown(part))));
        words.extend(self.delivered.map(|delivered| format!("delivered {}", delivered_name(delivered))));
        words.extend(self.bytes.map(|(least, most)| match (least, most) {
            _ if least == most => format!("of {least} bytes"),
            (0, _) => format!("of at most {most} bytes"),
            (_, usize::MAX) => format!("of at least {least} bytes"),
            _ => format!("of {least} to {most} bytes"),
        }));
        words.join(" ")
    }
}

/// Effects in a few words.
fn what_there_is(effects: &[&Effect]) -> String {
    if effects.is_empty() {
        return "nothing".to_owned();
    }
    let words: Vec<String> = effects
        .iter()
        .map(|effect| {
            let bytes = effect.bytes.map(|bytes| format!(" {bytes} bytes")).unwrap_or_default();
            let delivered = effect
                .delivered
                .filter(|delivered| *delivered != Delivered::Ignored)
                .map(|delivered| format!(" {}", delivered_name(delivered)))
                .unwrap_or_default();
            let said = [effect.text.as_deref(), effect.why.as_deref()];
            let said: Vec<String> =
                said.into_iter().flatten().map(|text| format!(": {}", shown(text))).collect();
            format!("{}{bytes}{delivered}{}", name(effect.kind), said.concat())
        })
        .collect();
    words.join("; ")
}

fn name(kind: Kind) -> &'static str {
    KINDS.iter().find(|(_, of)| *of == kind).map_or("", |(name, _)| name)
}

fn delivered_name(delivered: Delivered) -> &'static str {
    match delivered {
        Delivered::Whole => "whole",
        Delivered::Preview => "preview",
        Delivered::Cut => "cut",
        Delivered::Ignored => "ignored",
    }
}

fn ends_name(ends: Ends) -> &'static str {
    match ends {
        Ends::Allowed => "allowed",
        Ends::Capped => "capped",
        Ends::Never => "never",
    }
}

/// A text in one line, abridged.
fn shown(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(SHOWN_CHARACTERS) {
        Some((at, _)) => format!("{} …", &line[..at]),
        None => line,
    }
}
