//! Three lines of ours in a Markdown file of instructions: a marker, the request, a marker.

use crate::text::operational;

const BEGIN: &str = "<!-- dogwatch: begin; `dogwatch uninstall` removes these three lines -->";
const END: &str = "<!-- dogwatch: end -->";
/// How the first marker begins in every version.
const BEGIN_ANY: &str = "<!-- dogwatch: begin";

/// The request: for sessions that no hook reaches. `rerun` is the command that prints the digest.
fn request(rerun: &str) -> String {
    format!(
        "Where this project has a `.dogwatch/` folder and no dogwatch digest stands at the beginning of this session \
         (nor a line `{}`): run `{rerun}` now, exactly once, before anything else.",
        operational::LABEL
    )
}

/// The text with our lines at its end, or with those that are there made new.
pub(super) fn with(text: &str, rerun: &str) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let lines = [BEGIN, &request(rerun), END].join(newline);
    if let Some((start, end)) = find(text) {
        return format!("{}{lines}{}", &text[..start], &text[end..]);
    }
    let gap = match text {
        "" => "",
        text if text.ends_with("\n\n") || text.ends_with("\r\n\r\n") => "",
        text if text.ends_with('\n') => newline,
        _ => &newline.repeat(2),
    };
    format!("{text}{gap}{lines}{newline}")
}

/// The text without our lines; `None` where there are none.
pub(super) fn without(text: &str) -> Option<String> {
    let (start, end) = find(text)?;
    let (mut before, mut after) = (&text[..start], &text[end..]);
    after = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n')).unwrap_or(after);
    if after.is_empty() {
        // The blank line that set it off.
        for newline in ["\r\n", "\n"] {
            if before.ends_with(&newline.repeat(2)) {
                before = &before[..before.len() - newline.len()];
                break;
            }
        }
    }
    Some(format!("{before}{after}"))
}

/// Whether our lines are there.
pub fn is_there(text: &str) -> bool {
    find(text).is_some()
}

/// Whether our lines are there and somebody has written between them.
pub(super) fn is_edited(text: &str) -> bool {
    let is_begin = |line: &str| line.starts_with(BEGIN_ANY);
    text.lines().any(is_begin) && find(text).is_none()
}

/// Where our lines begin and end, without the line break behind them.
fn find(text: &str) -> Option<(usize, usize)> {
    let starts_line = |at: usize| at == 0 || text[..at].ends_with('\n');
    let start = text.match_indices(BEGIN_ANY).map(|(at, _)| at).find(|at| starts_line(*at))?;
    let end = start + text[start..].find(END)? + END.len();
    // Somebody's own text between the markers is not ours to remove; a formatter's blank lines are.
    let is_ours = text[start..end].lines().filter(|line| !line.trim().is_empty()).count() == 3;
    is_ours.then_some((start, end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("")]
    #[case("# Rules\n")]
    #[case("# Rules\n\n")]
    #[case("# Rules\r\n")]
    #[case("a\n\nb\n")]
    fn what_was_put_in_comes_out(#[case] text: &str) {
        let there = with(text, "dogwatch open");
        assert_eq!(there.lines().filter(|line| line.contains("dogwatch")).count(), 3);
        assert_eq!(with(&there, "dogwatch open"), there, "once");
        let removed = without(&there).unwrap();
        assert_eq!(removed.trim_end(), text.trim_end());
        assert!(removed.is_empty() || removed.ends_with('\n'));
    }

    #[test]
    fn what_stands_behind_it_stays() {
        let there = with("# Rules\n", "dogwatch open") + "\nMine.\n";
        assert_eq!(without(&there).unwrap(), "# Rules\n\n\nMine.\n");
        assert_eq!(with(&there, "x open").replace("x open", "dogwatch open"), there, "made new in place");
    }

    #[test]
    fn text_between_the_markers_is_not_ours() {
        let edited = with("", "dogwatch open").replace("<!-- dogwatch: end", "Mine.\n<!-- dogwatch: end");
        assert_eq!(without(&edited), None);
        assert!(is_edited(&edited) && !is_edited("") && !is_edited(&with("", "dogwatch open")));
    }

    #[test]
    fn a_formatters_blank_lines_change_nothing() {
        let formatted = with("# Rules\n", "dogwatch open")
            .replace("-->\nWhere", "-->\n\nWhere")
            .replace("else.\n", "else.\n\n");
        assert_eq!(formatted.lines().count(), 7);
        assert_eq!(without(&formatted).unwrap(), "# Rules\n");
        assert_eq!(with(&formatted, "dogwatch open"), with("# Rules\n", "dogwatch open"));
    }

    #[test]
    fn a_mention_is_none() {
        assert_eq!(without("See `<!-- dogwatch: begin` and <!-- dogwatch: end -->\n"), None);
    }

    proptest! {
        #[test]
        fn nothing_but_blank_lines_at_the_end_changes(text in "([a-z#]{0,5}\r?\n){0,4}[a-z]{0,4}") {
            let there = with(&text, "dogwatch open");
            let removed = without(&there).unwrap();
            prop_assert_eq!(removed.trim_end(), text.trim_end());
        }
    }
}
