//! What the source of a session open means. The only place that knows.

use crate::harness::Tier;

/// What to do at a session open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A true start: the whole digest.
    Full,
    /// The context is lost, the process is the same: again, if its start is proven complete, else [`Action::Full`].
    /// With whether it was a compaction.
    Again {
        /// A compaction, which kept a summary, rather than a clear.
        is_compaction: bool,
    },
    /// The model is asked to run the digest.
    Nudge {
        /// The context came back with the session, so that a session that has the helm has been told before.
        is_silent_at_the_helm: bool,
    },
    /// Nothing reaches the model here.
    Nothing,
}

/// The action for a source on a surface of this tier. A missing or unknown source is a start: taking the helm twice is
/// cheap, not taking it is the bug.
pub fn route(source: Option<&str>, tier: Tier) -> Action {
    let action = match source {
        Some("resume" | "reload" | "fork" | "load") => Action::Nudge { is_silent_at_the_helm: true },
        Some("clear") => Action::Again { is_compaction: false },
        Some("compact") => Action::Again { is_compaction: true },
        _ => Action::Full,
    };
    match tier {
        Tier::Run => action,
        // A lost context has forgotten what it was told, helm or not.
        Tier::Nudge => Action::Nudge { is_silent_at_the_helm: !matches!(action, Action::Again { .. }) },
        Tier::Uncovered => Action::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const NUDGE: Action = Action::Nudge { is_silent_at_the_helm: true };
    const CLEAR: Action = Action::Again { is_compaction: false };
    const COMPACT: Action = Action::Again { is_compaction: true };

    #[rstest]
    #[case(Some("startup"), Action::Full)]
    #[case(Some("new"), Action::Full)]
    #[case(Some("clear"), CLEAR)]
    #[case(Some("compact"), COMPACT)]
    #[case(Some("resume"), NUDGE)]
    #[case(Some("reload"), NUDGE)]
    #[case(Some("fork"), NUDGE)]
    #[case(Some("load"), NUDGE)]
    #[case(None, Action::Full)]
    #[case(Some(""), Action::Full)]
    #[case(Some("Resume"), Action::Full)]
    #[case(Some("something-new"), Action::Full)]
    fn the_source_decides_and_the_tier_caps_it(#[case] source: Option<&str>, #[case] on_run: Action) {
        assert_eq!(route(source, Tier::Run), on_run);
        let is_silent_at_the_helm = !matches!(source, Some("clear" | "compact"));
        assert_eq!(route(source, Tier::Nudge), Action::Nudge { is_silent_at_the_helm });
        assert_eq!(route(source, Tier::Uncovered), Action::Nothing);
    }
}
