//! The table: scenarios × agents, and what the two sides said where they differ.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use live_e2e::{Agent, pinned};

use crate::observed::Observed;

/// What came of a row.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    /// Both said this.
    Equal(Observed),
    Differs {
        real: Observed,
        simulated: Observed,
        known: Option<&'static str>,
    },
    /// Nothing could be compared, and why.
    Failed(String),
    NotAsked,
}

/// The rows in order, with the cells that there are.
#[derive(Debug, Default)]
pub(crate) struct Table {
    cells: BTreeMap<(String, Agent), Cell>,
}

impl Table {
    pub(crate) fn set(&mut self, row: &str, agent: Agent, cell: Cell) {
        self.cells.insert((row.to_owned(), agent), cell);
    }

    /// The rows that have a cell.
    pub(crate) fn text(&self, rows: &[&str]) -> String {
        let agents: Vec<Agent> = Agent::ALL.into_iter().filter(|agent| *agent != Agent::Cursor).collect();
        let cell = |row: &str, agent: Agent| self.cells.get(&(row.to_owned(), agent));
        let rows: Vec<&str> = rows
            .iter()
            .copied()
            .filter(|row| agents.iter().any(|agent| cell(row, *agent).is_some()))
            .collect();
        let width = rows.iter().map(|row| row.len()).max().unwrap_or_default();
        let mut out = String::new();
        let _ = write!(out, "\n{:width$}", "fidelity");
        for agent in &agents {
            let head = format!("{agent} {}", pinned(*agent).unwrap_or_default());
            let _ = write!(out, "  {head:16}");
        }
        for row in &rows {
            let _ = write!(out, "\n{row:width$}");
            for agent in &agents {
                let word = match cell(row, *agent) {
                    None => "-",
                    Some(Cell::Equal(_)) => "equal",
                    Some(Cell::Differs { known: None, .. }) => "DIFFERS",
                    Some(Cell::Differs { known: Some(_), .. }) => "differs (known)",
                    Some(Cell::Failed(_)) => "FAILED",
                    Some(Cell::NotAsked) => "not asked",
                };
                let _ = write!(out, "  {word:16}");
            }
        }
        out.push_str(
            "\n-: not applicable. Claude Code, Codex and Grok start commands, Pi and OpenCode load files; each has its own rows.\n",
        );
        for agent in &agents {
            let of = |wanted: fn(&Cell) -> bool| {
                self.cells.iter().filter(|((_, of), cell)| of == agent && wanted(cell)).count()
            };
            let (equal, differs) =
                (of(|cell| matches!(cell, Cell::Equal(_))), of(|cell| matches!(cell, Cell::Differs { .. })));
            let failed = of(|cell| matches!(cell, Cell::Failed(_)));
            let not_asked = of(|cell| matches!(cell, Cell::NotAsked));
            let _ = writeln!(
                out,
                "{agent}: {equal} equal, {differs} differ, {failed} failed, {not_asked} not asked"
            );
        }
        let mut alike = String::new();
        for row in &rows {
            for agent in &agents {
                match cell(row, *agent) {
                    Some(Cell::Differs { real, simulated, known }) => {
                        let _ =
                            writeln!(out, "\n{agent} {row}\n  real:      {real}\n  simulator: {simulated}");
                        if let Some(why) = known {
                            let _ = writeln!(out, "  known: {why}");
                        }
                    }
                    Some(Cell::Failed(why)) => {
                        let _ = writeln!(out, "\n{agent} {row}\n  {why}");
                    }
                    Some(Cell::Equal(both)) => {
                        let _ = writeln!(alike, "{agent} {row}: {both}");
                    }
                    Some(Cell::NotAsked) | None => {}
                }
            }
        }
        if !alike.is_empty() {
            let _ = write!(out, "\nequal:\n{alike}");
        }
        out
    }
}
