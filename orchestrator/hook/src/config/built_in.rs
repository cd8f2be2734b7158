//! The names of the digest's built-in stages, in the order in which they print.

use std::fmt;

/// A built-in stage of the digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BuiltIn {
    /// Who is in charge of the home.
    Helm,
    /// The instruction files, when they have drifted.
    Instructions,
    /// Results that wait for delivery.
    Wakes,
    /// What the pointer says.
    Orientation,
    /// Items that have come due.
    FollowUps,
    /// The state of the git checkout.
    Repository,
    /// The deferred stage.
    Network,
    /// Other live sessions of this home.
    Work,
    /// Skills, commands, agents and servers of the project.
    Capabilities,
    /// The person's profile.
    Profile,
    /// What to do now.
    NextStep,
}

impl BuiltIn {
    /// All of them, in the order in which they print.
    pub const ALL: [BuiltIn; 11] = [
        BuiltIn::Helm,
        BuiltIn::Instructions,
        BuiltIn::Wakes,
        BuiltIn::Orientation,
        BuiltIn::FollowUps,
        BuiltIn::Repository,
        BuiltIn::Network,
        BuiltIn::Work,
        BuiltIn::Capabilities,
        BuiltIn::Profile,
        BuiltIn::NextStep,
    ];

    /// The stage's id, as the config and the banner write it.
    pub const fn id(self) -> &'static str {
        match self {
            BuiltIn::Helm => "helm",
            BuiltIn::Instructions => "instructions",
            BuiltIn::Wakes => "wakes",
            BuiltIn::Orientation => "orientation",
            BuiltIn::FollowUps => "follow-ups",
            BuiltIn::Repository => "repository",
            BuiltIn::Network => "network",
            BuiltIn::Work => "work",
            BuiltIn::Capabilities => "capabilities",
            BuiltIn::Profile => "profile",
            BuiltIn::NextStep => "next-step",
        }
    }

    /// The stage of that id.
    pub fn from_id(id: &str) -> Option<BuiltIn> {
        Self::ALL.into_iter().find(|stage| stage.id() == id)
    }
}

impl fmt::Display for BuiltIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
