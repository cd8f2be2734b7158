//! The table of the harnesses, and what stands in it for each: one folder and one line per harness.

use std::time::Duration;

use super::event::EventKind;
use super::fields::{Fields, Object};
use super::registration::Registration;
use super::{claude, codex, cursor, grok, opencode, pi};
use crate::text::{cut_bytes, cut_utf16};

/// Every harness that dogwatch knows.
pub static TABLE: [&Harness; 6] =
    [&claude::HARNESS, &codex::HARNESS, &cursor::HARNESS, &pi::HARNESS, &opencode::HARNESS, &grok::HARNESS];

/// A harness: what holds for all of its sessions, and how it speaks. Each folder says where its facts come from.
#[derive(Debug)]
pub struct Harness {
    /// Its id on the command line and in files.
    pub id: &'static str,
    /// Its name in messages.
    pub name: &'static str,
    /// Other ids of it on the command line: builds that behave alike but are told apart in what is kept.
    pub aliases: &'static [&'static str],
    /// How a digest can reach its model.
    pub tier: Tier,
    /// How much of a session open's context its model sees.
    pub budget: Budget,
    /// How it bounds a hook.
    pub timeout: Timeout,
    /// Several sessions may share one process of it, so that the process alone does not say which session it is.
    pub shared_process: bool,
    /// It shows a project's skills, commands and agents to its model itself.
    pub shows_capabilities: bool,
    /// Environment variables in which it names the project's folder to a hook, best first.
    pub root_variables: &'static [&'static str],
    /// After which session opens the context may carry instruction files as they once were: the id or alias that the
    /// hook was registered under, and the source.
    pub stale_carries: &'static [(&'static str, &'static str)],

    /// Names of its program: an executable's, an `argv[0]`'s, or a script's (a link in a `bin` folder).
    pub(super) programs: &'static [&'static str],
    /// Packages of a script interpreter that it comes in, as they stand below `node_modules`.
    pub(super) packages: &'static [&'static str],
    /// A folder that holds `versions/<version>`, where that is the program or the folder of it.
    pub(super) versioned: Option<&'static str>,
    /// A folder whose interpreter serves it, wherever in it that lies.
    pub(super) server: Option<&'static str>,

    /// Where it reads its hooks, and what of ours stands there.
    pub registration: &'static Registration,

    /// Its names of the events that dogwatch acts on. The first name of a kind is the usual one.
    pub(super) events: &'static [(&'static str, EventKind)],
    /// Whether a payload is unmistakably its own, whichever registration it came through.
    pub(super) claims: fn(&Object) -> bool,
    /// What a payload of it says.
    pub(super) fields: fn(&Object) -> Fields,
    /// Whether its answer to an event, one of `events`, can bring text to the model.
    pub(super) carries_context: fn(&str, EventKind) -> bool,
    /// That answer. Called only where there can be one.
    pub(super) context: fn(&str, &str) -> Vec<u8>,
    /// The answer that changes nothing.
    pub(super) neutral: fn(Option<&str>, Option<EventKind>) -> &'static [u8],
}

/// There is one of each in the program, and its id tells which.
impl PartialEq for Harness {
    fn eq(&self, other: &Harness) -> bool {
        self.id == other.id
    }
}

impl Eq for Harness {}

impl Harness {
    /// The harness of that id or alias, and the one of them that was used.
    ///
    /// ```
    /// use dogwatch::harness::Harness;
    ///
    /// let (harness, used) = Harness::by_name("pi-signed").unwrap();
    /// assert_eq!((harness.id, used), ("pi", "pi-signed"));
    /// assert!(Harness::by_name("Pi").is_none());
    /// ```
    pub fn by_name(name: &str) -> Option<(&'static Harness, &'static str)> {
        TABLE.into_iter().find_map(|harness| {
            let mut names = std::iter::once(&harness.id).chain(harness.aliases);
            names.find(|known| **known == name).map(|used| (harness, *used))
        })
    }

    /// What its own name of an event means; `None` for one that dogwatch does not act on.
    pub fn event(&self, name: &str) -> Option<EventKind> {
        self.events.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }

    /// Names of its program.
    pub fn programs(&self) -> &'static [&'static str] {
        self.programs
    }

    /// Its usual name of an event; `None` where it has no such event.
    pub fn event_name(&self, kind: EventKind) -> Option<&'static str> {
        self.events.iter().find(|(_, known)| *known == kind).map(|(name, _)| *name)
    }
}

/// How a digest can reach a harness's model at session open. A property of the harness, never of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// The digest itself reaches it.
    Run,
    /// It can be asked to run the digest.
    Nudge,
    /// Nothing reaches it.
    Uncovered,
}

/// How much of a hook's context a model sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// So many UTF-16 units.
    Utf16(usize),
    /// So many bytes of UTF-8.
    Bytes(usize),
    /// All of it.
    Unlimited,
    /// Nothing: the harness throws the output away.
    Discarded,
}

impl Budget {
    /// How much of it a text takes up, in its own unit.
    pub fn measure(self, text: &str) -> usize {
        match self {
            Budget::Utf16(_) => text.encode_utf16().count(),
            Budget::Bytes(_) | Budget::Unlimited | Budget::Discarded => text.len(),
        }
    }

    /// How much fits, in its own unit; `None` where everything does.
    pub fn limit(self) -> Option<usize> {
        match self {
            Budget::Utf16(limit) | Budget::Bytes(limit) => Some(limit),
            Budget::Unlimited => None,
            Budget::Discarded => Some(0),
        }
    }

    /// The longest beginning of a text that fits.
    pub fn cut(self, text: &str) -> &str {
        match self {
            Budget::Utf16(limit) => cut_utf16(text, limit),
            Budget::Bytes(limit) => cut_bytes(text, limit),
            Budget::Unlimited => text,
            Budget::Discarded => "",
        }
    }
}

/// How a harness bounds a hook that was registered without a timeout of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeout {
    /// It does not: a hook that hangs hangs the session, and the caller has to bring a bound.
    None,
    /// A registration gives it in whole seconds.
    Seconds {
        /// What holds where the registration gives none.
        default: Duration,
        /// What holds instead for some events.
        exceptions: &'static [(EventKind, Duration)],
    },
}

impl Timeout {
    /// The bound of an event where its registration gives none.
    pub fn default_of(self, kind: EventKind) -> Option<Duration> {
        match self {
            Timeout::None => None,
            Timeout::Seconds { default, exceptions } => {
                Some(exceptions.iter().find(|(known, _)| *known == kind).map_or(default, |(_, bound)| *bound))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rstest::rstest;

    use super::*;

    #[test]
    fn every_id_and_alias_is_one_of_its_own() {
        let names: Vec<&str> =
            TABLE.iter().flat_map(|harness| [&[harness.id], harness.aliases].concat()).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        for name in names {
            assert_eq!(Harness::by_name(name).map(|(_, used)| used), Some(name));
        }
    }

    #[test]
    fn an_unknown_name_is_none() {
        for name in ["", "Claude", "claude ", "pi_signed", "gemini"] {
            assert!(Harness::by_name(name).is_none(), "{name:?}");
        }
    }

    #[test]
    fn an_event_has_one_meaning() {
        for harness in TABLE {
            let names: BTreeSet<&str> = harness.events.iter().map(|(name, _)| *name).collect();
            assert_eq!(names.len(), harness.events.len(), "{}", harness.id);
            for (name, kind) in harness.events {
                assert_eq!(harness.event(name), Some(*kind));
                assert_eq!(harness.event(harness.event_name(*kind).unwrap()), Some(*kind));
            }
        }
    }

    #[test]
    fn every_harness_tells_of_an_opened_session_and_of_a_tool_call() {
        for harness in TABLE {
            assert!(harness.event_name(EventKind::SessionOpen).is_some(), "{}", harness.id);
            assert!(harness.event_name(EventKind::BeforeTool).is_some(), "{}", harness.id);
        }
    }

    #[test]
    fn a_stale_pair_names_its_own_harness() {
        for harness in TABLE {
            for (name, _) in harness.stale_carries {
                assert_eq!(Harness::by_name(name), Some((harness, *name)));
            }
        }
    }

    #[rstest]
    #[case(Budget::Utf16(3), "a🙂b", 4, "a🙂")]
    #[case(Budget::Bytes(3), "aä€", 6, "aä")]
    #[case(Budget::Unlimited, "aä", 3, "aä")]
    #[case(Budget::Discarded, "aä", 3, "")]
    fn a_budget_counts_in_its_own_unit(
        #[case] budget: Budget,
        #[case] text: &str,
        #[case] measure: usize,
        #[case] cut: &str,
    ) {
        assert_eq!(budget.measure(text), measure);
        assert_eq!(budget.cut(text), cut);
        assert!(budget.limit().is_none_or(|limit| budget.measure(cut) <= limit));
    }

    #[test]
    fn a_timeout_has_exceptions() {
        let claude = Harness::by_name("claude").unwrap().0.timeout;
        assert_eq!(claude.default_of(EventKind::BeforeTool), Some(Duration::from_secs(600)));
        assert_eq!(claude.default_of(EventKind::Prompt), Some(Duration::from_secs(30)));
        assert_eq!(claude.default_of(EventKind::End), Some(Duration::from_millis(1500)));
        assert_eq!(Harness::by_name("pi").unwrap().0.timeout.default_of(EventKind::BeforeTool), None);
    }
}
