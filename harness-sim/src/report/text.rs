//! A firing as a person reads it: one line, then what the model would see, what the user would see, what leaked.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Color};

use super::{Delivered, Effect, Firing, Kind, duration};
use crate::launch::Exit;
use crate::recording::How;

/// The most lines, and the most characters of one, that are shown of a text.
const MOST_LINES: usize = 12;
const MOST_CHARACTERS: usize = 160;

/// Colours of a report.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    Good,
    Bad,
    Warn,
    Dim,
    Strong,
}

/// A text in a style, as terminal codes; whoever prints takes them out where there is no terminal.
pub(crate) fn paint(style: Style, text: &str) -> String {
    let style = match style {
        Style::Good => color(AnsiColor::Green),
        Style::Bad => color(AnsiColor::Red).bold(),
        Style::Warn => color(AnsiColor::Yellow),
        Style::Dim => anstyle::Style::new().dimmed(),
        Style::Strong => anstyle::Style::new().bold(),
    };
    format!("{style}{text}{style:#}")
}

fn color(color: AnsiColor) -> anstyle::Style {
    anstyle::Style::new().fg_color(Some(Color::Ansi(color)))
}

/// Writes a firing down, with terminal colours.
pub fn write_firing(out: &mut String, firing: &Firing) {
    let good = firing.is_clean();
    let is_unheard = firing.commands.is_empty() && !firing.has(Kind::Failed);
    let mark = if firing.not_applicable.is_some() || is_unheard {
        paint(Style::Dim, "–")
    } else if good {
        // It may have meant something that nobody heard.
        if firing.has(Kind::Ignored) { paint(Style::Warn, "!") } else { paint(Style::Good, "✓") }
    } else {
        paint(Style::Bad, "✗")
    };
    write_marked(out, firing, &mark);
}

/// The same under another mark than the firing's own.
pub(super) fn write_marked(out: &mut String, firing: &Firing, mark: &str) {
    let documented = match firing.how {
        How::Recorded => String::new(),
        How::Documented => format!("  {}", paint(Style::Warn, "documented, never seen")),
    };
    let _ = writeln!(
        out,
        "{mark} {} {}  {}  {}{documented}",
        paint(Style::Strong, &format!("{} {}", firing.harness.name(), firing.version)),
        paint(Style::Strong, &firing.recording),
        summary(firing),
        paint(Style::Dim, &duration(firing.elapsed)),
    );
    if let Some(why) = &firing.not_applicable {
        let _ = writeln!(out, "  not applicable: {why}");
    }
    if let Some(why) = &firing.not_run {
        let _ = writeln!(out, "  {} {why}", paint(Style::Warn, "not run:"));
    }
    for (at, run) in firing.commands.iter().enumerate() {
        let exit = match &run.exit {
            Exit::Code { code: 0 } => "exit 0".to_owned(),
            Exit::Code { code } => paint(Style::Warn, &format!("exit {code}")),
            Exit::Signal { name, .. } => paint(Style::Bad, name),
            Exit::NotStarted { .. } => paint(Style::Bad, "not started"),
        };
        let eof = if run.stdout_eof { String::new() } else { paint(Style::Warn, "  stdout still open") };
        let _ = writeln!(
            out,
            "  {} {}  {exit}  {}  {} bytes{eof}",
            paint(Style::Dim, &format!("{}.", at + 1)),
            abridge_line(&run.command),
            duration(run.elapsed),
            run.stdout_bytes,
        );
        if run.stderr_bytes > 0 {
            let line = crate::harness::first_line(&run.stderr);
            let _ = writeln!(out, "     {} {}", paint(Style::Dim, "stderr:"), abridge_line(&line));
        }
    }
    for effect in &firing.effects {
        write_effect(out, effect);
    }
    for survivor in &firing.survivors {
        let head = if survivor.declared {
            paint(Style::Dim, "survives, declared:")
        } else {
            paint(Style::Bad, "leaked:")
        };
        let holds = if survivor.holds_stdout { ", holds stdout" } else { "" };
        let _ =
            writeln!(out, "  {head} {} (pid {}{holds})", abridge_line(&survivor.command_line), survivor.pid);
    }
    for warning in &firing.warnings {
        let _ = writeln!(out, "  {} {warning}", paint(Style::Warn, "note:"));
    }
}

/// The effects in a few words.
fn summary(firing: &Firing) -> String {
    if firing.not_applicable.is_some() {
        return paint(Style::Dim, "not applicable");
    }
    if firing.not_run.is_some() {
        return paint(Style::Warn, "not run");
    }
    if firing.commands.is_empty() {
        if firing.has(Kind::Failed) {
            return paint(Style::Bad, "failed: what registers hooks is rejected, and none takes this event");
        }
        return paint(Style::Warn, "no hook takes this event");
    }
    let mut words: Vec<String> = Vec::new();
    for effect in &firing.effects {
        let word = match effect.kind {
            Kind::Context => match effect.delivered {
                Some(Delivered::Preview) => paint(Style::Warn, "context (preview)"),
                Some(Delivered::Cut) => paint(Style::Warn, "context (cut)"),
                _ => paint(Style::Good, "context"),
            },
            Kind::Ran => paint(Style::Good, "tool ran"),
            Kind::Failed => paint(Style::Bad, "failed"),
            Kind::Denied | Kind::StopRefused | Kind::Asked => paint(Style::Warn, effect.kind.name()),
            Kind::Ignored => paint(Style::Dim, "ignored"),
            Kind::Message => "message".to_owned(),
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    if words.is_empty() { paint(Style::Dim, "nothing") } else { words.join(", ") }
}

fn write_effect(out: &mut String, effect: &Effect) {
    let why = effect.why.as_deref().unwrap_or_default();
    match effect.kind {
        Kind::Context => {
            let bytes = effect.bytes.unwrap_or_default();
            let how = match effect.delivered {
                Some(Delivered::Preview) => format!("{bytes} bytes, of which a preview arrives"),
                Some(Delivered::Cut) => format!("{bytes} bytes, of which parts arrive"),
                _ => format!("{bytes} bytes, whole"),
            };
            let why = if why.is_empty() { String::new() } else { format!("; {why}") };
            let _ = writeln!(
                out,
                "  {} {}",
                paint(Style::Strong, "the model sees"),
                paint(Style::Dim, &format!("({how}{why})"))
            );
            for line in abridge(effect.text.as_deref().unwrap_or_default()) {
                let _ = writeln!(out, "  {} {line}", paint(Style::Dim, "│"));
            }
        }
        Kind::Message => {
            let _ = writeln!(out, "  {}", paint(Style::Strong, "the user sees"));
            for line in abridge(effect.text.as_deref().unwrap_or_default()) {
                let _ = writeln!(out, "  {} {line}", paint(Style::Dim, "│"));
            }
        }
        Kind::Ran => {}
        Kind::Failed => {
            let _ = writeln!(out, "  {} {why}", paint(Style::Bad, "failed:"));
        }
        Kind::Denied | Kind::StopRefused | Kind::Asked => {
            let head = paint(Style::Warn, &format!("{}:", effect.kind.name()));
            let mut lines = abridge(why).into_iter();
            let _ = writeln!(out, "  {head} {}", lines.next().unwrap_or_default());
            for line in lines {
                let _ = writeln!(out, "  {} {line}", paint(Style::Dim, "│"));
            }
        }
        Kind::Ignored => {
            let bytes = effect
                .bytes
                .filter(|bytes| *bytes > 0)
                .map(|bytes| format!(" ({bytes} bytes)"))
                .unwrap_or_default();
            let _ = writeln!(out, "  {}{bytes} {why}", paint(Style::Dim, "ignored:"));
        }
    }
}

/// The beginning and the end of a text, line by line, harmless to a terminal.
fn abridge(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= MOST_LINES {
        return lines.into_iter().map(abridge_line).collect();
    }
    let (head, tail) = (MOST_LINES - 4, 3);
    let hidden = lines.len() - head - tail;
    let mut short: Vec<String> = lines[..head].iter().map(|line| abridge_line(line)).collect();
    short.push(paint(Style::Dim, &format!("… {hidden} more lines …")));
    short.extend(lines[lines.len() - tail..].iter().map(|line| abridge_line(line)));
    short
}

fn abridge_line(line: &str) -> String {
    let clean: String = line.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    match clean.char_indices().nth(MOST_CHARACTERS) {
        Some((at, _)) => {
            let more = clean[at..].chars().count();
            format!("{}{}", &clean[..at], paint(Style::Dim, &format!(" … {more} more characters")))
        }
        None => clean,
    }
}
