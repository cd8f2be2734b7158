//! Placeholders: `{name}` in a command or in a text of a scenario, and those among them that stand for nothing.

/// What is replaced in every command.
pub(crate) const OF_COMMANDS: &[&str] = &["harness", "event"];

/// The names in braces that are none of these, each once. `${name}` is a shell's, and `{a,b}`, `{ a }` and `{"a"}` are
/// no placeholders.
pub(crate) fn unknown<'a>(text: &'a str, known: &[&str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut before = None;
    while let Some(at) = rest.find('{') {
        before = rest[..at].chars().next_back().or(before.filter(|_| at == 0));
        rest = &rest[at + 1..];
        let name = rest.split('}').next().filter(|name| name.len() < rest.len() && is_name(name));
        if let Some(name) = name
            && before != Some('$')
            && !known.contains(&name)
            && !found.contains(&name)
        {
            found.push(name);
        }
        before = Some('{');
    }
    found
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}

/// The same in a command, for a person.
pub(crate) fn unknown_in_command(command: &str) -> Vec<String> {
    unknown(command, OF_COMMANDS)
        .iter()
        .map(|name| {
            format!(
                "{{{name}}} in the command stands for nothing and is passed as it is; there are {{harness}} and \
                 {{event}}, and in a scenario the names of its `needs`"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_nothing_is_named_once_and_what_is_no_placeholder_is_not() {
        assert_eq!(unknown("x {harnes} {harness} {event} {harnes}", OF_COMMANDS), ["harnes"]);
        assert_eq!(unknown("{a}{b}{{c}}", &["b"]), ["a", "c"]);
        for none in
            ["${HOME}", "{a,b}", "{ print }", "{\"a\": {}}", "{", "a}", "{}", "{1..3}", "awk '{print $1}'"]
        {
            assert_eq!(unknown(none, &[]), [] as [&str; 0], "{none}");
        }
    }
}
