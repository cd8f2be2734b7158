//! The cost of an untouched home, which every session pays.

use std::fs;
use std::path::Path;

use super::ground::Ground;
use super::{capabilities, follow_ups, next_step, orientation, profile, repository};
use crate::home::root::GitPlace;

/// What all built-in stages of this folder say, in their order.
fn digest(ground: &Ground) -> String {
    [
        orientation::text(ground),
        follow_ups::text(ground),
        repository::render(ground, b"# branch.oid 0123456789\0# branch.head main\0"),
        capabilities::text(ground),
        profile::text(ground, false).text,
        next_step::text(ground),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join("\n\n")
}

fn ground(root: &Path) -> Ground {
    let git = GitPlace { top: root.into(), dir: root.join(".git"), common_dir: root.join(".git") };
    Ground { git: Some(git), profile: Some(root.join("profile.md")), ..Ground::with_home(root) }
}

#[test]
fn an_untouched_home_costs_little() {
    let root = tempfile::tempdir().unwrap();
    let ground = ground(root.path());
    fs::write(
        root.path().join(".dogwatch/pointer.md"),
        "# Pointer\n\nDate:\n\n## Scope\n\n<!-- What this is about. -->\n\n## Next action\n\n<!-- One step. -->\n\n\
         ## Blockers\n\n## Reading list\n\n<!-- - docs/x.md -->\n\n## Resume note\n\n<!-- Where you stopped. -->\n",
    )
    .unwrap();
    fs::write(
        root.path().join(".dogwatch/follow-ups.md"),
        "# Follow-ups\n\n<!--\n- [ ] 2026-01-31 an example\n-->\n",
    )
    .unwrap();
    let said = digest(&ground).replace(&root.path().display().to_string(), "ROOT");
    insta::assert_snapshot!(said, @"
    Git: main, clean

    Welcome to dogwatch (said once). Tell the person: a few lines in ROOT/profile.md on how they like to work (tone, tools, what never to do) reach every new session.

    The pointer is empty: before you stop, write `Scope`, `Next action` and `Date:` into .dogwatch/pointer.md for the next session.
    ");
    assert!(said.len() < 700, "{}", said.len());
}
