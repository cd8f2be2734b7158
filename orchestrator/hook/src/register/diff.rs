//! The difference between a file as it is and as it would be, in the unified form that `patch(1)` takes.

use std::fmt::Write as _;
use std::path::Path;

use similar::TextDiff;

/// How many lines of context stand around a change.
const CONTEXT: usize = 3;

/// The change of one file. A content of `None` is no file.
pub fn unified(path: &Path, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let (old, new) = (text(before), text(after));
    let name = |content: Option<&[u8]>| match content {
        Some(_) => path.display().to_string(),
        None => "/dev/null".to_owned(),
    };
    let mut out = format!("--- {}\n+++ {}\n", name(before), name(after));
    // By line feeds alone: a carriage return is no line break to `patch`.
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let diff = TextDiff::configure().newline_terminated(true).diff_slices(&old, &new);
    let _ = write!(out, "{}", diff.unified_diff().context_radius(CONTEXT));
    out
}

/// What we edit is UTF-8, or was refused before; an old program of ours that somebody made unreadable is shown as far as
/// it goes.
fn text(content: Option<&[u8]>) -> String {
    String::from_utf8_lossy(content.unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_final_newline_is_said() {
        let diff = unified(Path::new("/x/f"), Some(b"a\nb"), Some(b"a\nb\nc\n"));
        assert_eq!(
            diff,
            "--- /x/f\n+++ /x/f\n@@ -1,2 +1,3 @@\n a\n-b\n\\ No newline at end of file\n+b\n+c\n"
        );
    }

    #[test]
    fn a_carriage_return_is_no_line_break() {
        let diff = unified(Path::new("/x/f"), Some(b"{\r}\n"), Some(b"{\r}\na\n"));
        assert_eq!(diff, "--- /x/f\n+++ /x/f\n@@ -1 +1,2 @@\n {\r}\n+a\n");
    }

    #[test]
    fn a_new_file_comes_from_nothing() {
        assert_eq!(
            unified(Path::new("/x/f"), None, Some(b"a\n")),
            "--- /dev/null\n+++ /x/f\n@@ -0,0 +1 @@\n+a\n"
        );
    }
}
