//! What is said when something is missing: loud, in the text itself, with the way to the rest.

use std::time::Duration;

use super::digest::Truncation;

/// What the caller's users can do about a truncated text.
#[derive(Debug, Clone, Copy)]
pub struct Hints<'a> {
    /// How to get the rest.
    pub rerun: &'a str,
    /// Which knob gives more time.
    pub knob: &'a str,
}

/// The banner of a text that did not come to its end.
pub fn banner(
    truncation: Truncation,
    unfinished: &[&str],
    never_started: &[&str],
    hints: &Hints<'_>,
) -> String {
    let cause = match truncation {
        Truncation::Deadline(after) => format!("the deadline of {} passed", seconds(after)),
        Truncation::Interrupted(signal) => format!("it was interrupted by signal {signal}"),
        Truncation::SupervisorLost => "its supervisor was killed".to_owned(),
    };
    let mut text = format!("=== STARTUP TRUNCATED: {cause} ===\n");
    for (what, names) in [("Did not finish", unfinished), ("Never started", never_started)] {
        if !names.is_empty() {
            text.extend([what, ": ", &names.join(", "), "\n"]);
        }
    }
    text.extend(["For the rest: ", hints.rerun, "\n"]);
    if matches!(truncation, Truncation::Deadline(_)) {
        text.extend(["For more time always: ", hints.knob, "\n"]);
    }
    text.push_str("=== what stands above is incomplete ===\n");
    text
}

/// The line that stands where the cap cut.
pub fn gap_marker(missing_bytes: u64, cap_bytes: usize, look_at: &str) -> String {
    format!("\n=== CUT at {cap_bytes} bytes: {missing_bytes} more are missing here; {look_at} ===\n")
}

/// A duration as a person writes it.
pub(super) fn seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        format!("{} s", duration.as_secs())
    } else {
        format!("{} ms", duration.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_names_both_kinds_and_leaves_out_an_empty_one() {
        let hints = Hints { rerun: "run it", knob: "turn it" };
        let text = banner(Truncation::Deadline(Duration::from_secs(2)), &["a", "b"], &[], &hints);
        assert_eq!(
            text,
            "=== STARTUP TRUNCATED: the deadline of 2 s passed ===\nDid not finish: a, b\nFor the rest: run it\n\
             For more time always: turn it\n=== what stands above is incomplete ===\n"
        );
        let text = banner(Truncation::Interrupted(15), &[], &["c"], &hints);
        assert!(text.contains("interrupted by signal 15") && text.contains("Never started: c\n"));
        assert!(!text.contains("Did not finish"));
    }
}
