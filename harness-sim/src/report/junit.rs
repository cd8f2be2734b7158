//! Reports as JUnit XML: one suite for each scenario, one case for each step. Valid for the schema of Ant's JUnit task,
//! which is the strictest around.

use std::fmt::Write as _;

use super::{Report, StepReport, Unmet};

/// Writes the whole document.
pub fn junit(reports: &[Report]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    // Without a zone, as the schema has it; it is UTC.
    let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S").to_string();
    for (id, report) in reports.iter().enumerate() {
        suite(&mut xml, id, report, &at);
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn suite(xml: &mut String, id: usize, report: &Report, at: &str) {
    let mut cases = String::new();
    let class = format!("{} {}", report.harness.id(), report.version);
    let (mut tests, mut failures, mut errors, mut skipped) = (0, 0, 0, 0);
    for (at, step) in report.steps.iter().enumerate() {
        tests += 1;
        let seconds: f64 = step.played.iter().map(|played| played.firing.elapsed.as_secs_f64()).sum();
        let name = format!("{}. {}", at + 1, step.event);
        let _ = write!(cases, "    <testcase {}", attributes(&[("name", &name), ("classname", &class)]));
        let _ = write!(cases, " time=\"{seconds:.3}\"");
        if report.not_run.is_some() {
            skipped += 1;
            cases.push_str("><skipped/></testcase>\n");
        } else if step.unmet.is_empty() {
            cases.push_str("/>\n");
        } else {
            failures += 1;
            failure(&mut cases, step);
        }
    }
    if let Some(error) = &report.error {
        tests += 1;
        errors += 1;
        let _ = writeln!(
            cases,
            "    <testcase {} time=\"0.000\"><error {}/></testcase>",
            attributes(&[("name", "set-up"), ("classname", &class)]),
            attributes(&[("message", error), ("type", "error")]),
        );
    }
    let _ = write!(
        xml,
        "  <testsuite {} id=\"{id}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" \
         skipped=\"{skipped}\" time=\"{:.3}\"",
        attributes(&[
            ("name", &report.scenario),
            ("package", report.harness.id()),
            ("timestamp", at),
            // The schema wants one, and it is nobody's business.
            ("hostname", "localhost"),
        ]),
        report.elapsed.as_secs_f64(),
    );
    let properties = [
        ("file", report.file.as_str()),
        ("harness", report.harness.id()),
        ("version", report.version.as_str()),
        ("recordings", if report.how == crate::recording::How::Recorded { "recorded" } else { "documented" }),
    ];
    xml.push_str(">\n    <properties>\n");
    for (name, value) in properties {
        let _ = writeln!(xml, "      <property {}/>", attributes(&[("name", name), ("value", value)]));
    }
    xml.push_str("    </properties>\n");
    xml.push_str(&cases);
    let text = if report.passed() { report.not_run.clone().unwrap_or_default() } else { report.to_string() };
    let _ = writeln!(xml, "    <system-out>{}</system-out>\n    <system-err></system-err>", escape(&text));
    xml.push_str("  </testsuite>\n");
}

fn failure(xml: &mut String, step: &StepReport) {
    let sentence = |unmet: &Unmet| format!("expected {}, found {}", unmet.expected, unmet.found);
    let message = step.unmet.first().map(sentence).unwrap_or_default();
    let all: Vec<String> = step
        .unmet
        .iter()
        .map(|unmet| format!("{}:{}: {}", unmet.file, unmet.line, sentence(unmet)))
        .collect();
    let _ = writeln!(
        xml,
        ">\n      <failure {}>{}</failure>\n    </testcase>",
        attributes(&[("message", &message), ("type", "expectation")]),
        escape(&all.join("\n")),
    );
}

fn attributes(pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = pairs
        .iter()
        // As they stand they would be read as blanks.
        .map(|(name, value)| (name, escape(value).replace('\n', "&#10;").replace('\t', "&#9;")))
        .map(|(name, value)| format!("{name}=\"{value}\""))
        .collect();
    pairs.join(" ")
}

/// A text as XML has it. What no XML may hold, even escaped, becomes U+FFFD.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\r' => out.push_str("&#13;"),
            '\n' | '\t' => out.push(c),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
