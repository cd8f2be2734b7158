//! What both sides are asked: the words that hooks and tool left in the log, how much of each text the model got, whether
//! the prompt reached it, what the user saw. Nothing here is a time.

use std::fmt;

/// What came of a scenario, on either side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Observed {
    /// In the order in which they were written.
    pub(crate) log: Vec<String>,
    /// Of each text.
    pub(crate) model: Vec<Reached>,
    /// The order in which whole texts reached the model, where there are several.
    pub(crate) order: Vec<usize>,
    /// Whether the model was asked.
    pub(crate) asked: bool,
    /// Whether the user saw what they were to see; `None` where nobody asks.
    pub(crate) user: Option<bool>,
}

/// How much of a text arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reached {
    Nothing,
    /// So many of its first and of its last characters.
    Parts(usize, usize),
    Whole,
}

/// Fewer characters in common are chance.
const CHANCE: usize = 8;

impl Observed {
    /// Reads what the model was told, in these texts, for the scenario's.
    pub(crate) fn new(log: &str, texts: &[String], told: &[String], asked: bool, user: Option<bool>) -> Self {
        let model = texts.iter().map(|text| reached(text, told)).collect();
        let at = |text: &String| told.iter().find_map(|told| told.find(text.as_str()));
        let mut order: Vec<usize> = (0..texts.len()).filter(|number| at(&texts[*number]).is_some()).collect();
        order.sort_by_key(|number| at(&texts[*number]));
        Self { log: log.split_whitespace().map(str::to_owned).collect(), model, order, asked, user }
    }

    /// Without any order.
    pub(crate) fn unordered(mut self) -> Self {
        self.log.sort();
        self.order.sort_unstable();
        self
    }
}

impl fmt::Display for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut log: Vec<String> = Vec::new();
        let mut words = self.log.as_slice();
        while let Some(word) = words.first() {
            let times = words.iter().take_while(|other| *other == word).count();
            log.push(if times > 1 { format!("{word}×{times}") } else { word.clone() });
            words = &words[times..];
        }
        write!(f, "log [{}]", log.join(" "))?;
        for (number, reached) in self.model.iter().enumerate() {
            let name = if self.model.len() > 1 { format!(" text {}", number + 1) } else { String::new() };
            write!(f, ", model{name}: {reached}")?;
        }
        if self.order.len() > 1 {
            let order: Vec<String> = self.order.iter().map(|number| (number + 1).to_string()).collect();
            write!(f, ", order {}", order.join(" "))?;
        }
        if !self.asked {
            f.write_str(", the model is not asked")?;
        }
        match self.user {
            Some(true) => f.write_str(", user: sees it"),
            Some(false) => f.write_str(", user: does not see it"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing"),
            Self::Whole => f.write_str("whole"),
            Self::Parts(first, 0) => write!(f, "first {first}"),
            Self::Parts(first, last) => write!(f, "first {first} and last {last}"),
        }
    }
}

/// The most of a text that one of these has.
fn reached(text: &str, told: &[String]) -> Reached {
    let of = |told: &String| {
        if told.contains(text) {
            return Reached::Whole;
        }
        let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let count = ends.len() - 1;
        // Whoever has a longer beginning has every shorter one.
        let first = (0..=count).collect::<Vec<_>>().partition_point(|n| told.contains(&text[..ends[*n]])) - 1;
        let last =
            (0..=count).collect::<Vec<_>>().partition_point(|n| told.contains(&text[ends[count - n]..])) - 1;
        let of_note = |length: usize| if length < CHANCE { 0 } else { length };
        match (of_note(first), of_note(last)) {
            (0, 0) => Reached::Nothing,
            (first, last) => Reached::Parts(first, last),
        }
    };
    told.iter().map(of).max().unwrap_or(Reached::Nothing)
}
