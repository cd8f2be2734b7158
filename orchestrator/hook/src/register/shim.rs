//! A program of our own that a harness loads: the asset with the path of this program in it.

use super::own::Program;

/// The line of an asset that says what is called.
const BINARY: &str = "const BINARY = \"dogwatch\";";
/// How an asset's first line begins, in every version.
const MARK: &str = "// dogwatch: ";

/// The asset as it is installed.
pub(super) fn render(asset: &str, program: &Program) -> String {
    let path = serde_json::to_string(program.as_str()).expect("a string is JSON");
    // JSON is JavaScript but for two separators, which older engines take for line breaks.
    let path = path.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    asset.replacen(BINARY, &format!("const BINARY = {path};"), 1)
}

/// Whether a file is a program of ours, whichever version it came with.
pub(super) fn is_ours(content: &[u8]) -> bool {
    content.starts_with(MARK.as_bytes())
}

/// What a program of ours calls; `None` for somebody else's.
pub(super) fn program_of(content: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(content).ok().filter(|_| is_ours(content))?;
    let value = text.lines().find_map(|line| line.strip_prefix("const BINARY = ")?.strip_suffix(';'))?;
    serde_json::from_str(value).ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::harness::TABLE;
    use crate::harness::registration::Form;

    #[test]
    fn every_asset_has_its_mark_and_exactly_one_line_for_the_program() {
        let mut count = 0;
        for harness in TABLE {
            let Form::Shim { program } = harness.registration.form else { continue };
            count += 1;
            assert!(is_ours(program.as_bytes()), "{}", harness.id);
            assert_eq!(program.lines().filter(|line| *line == BINARY).count(), 1, "{}", harness.id);
            assert_eq!(render(program, &Program::Bare), program);
            let path = "/a \"b\"\\c/it's/dogwatch";
            let text = render(program, &Program::at(Path::new(path)).unwrap());
            assert!(text.contains(r#"const BINARY = "/a \"b\"\\c/it's/dogwatch";"#), "{}", harness.id);
        }
        assert_eq!(count, 2);
    }
}
