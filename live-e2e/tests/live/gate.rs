//! A gate: shell in a project's config that waits until the test opens it, and notes that it waits.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use live_e2e::Desk;

/// How long anything may take to come about, on a machine that is busy.
pub(crate) const BOUND: Duration = Duration::from_secs(90);

/// A gate of a desk.
pub(crate) struct Gate {
    file: PathBuf,
}

impl Gate {
    /// A gate that is shut.
    pub(crate) fn new(desk: &Desk, name: &str) -> Self {
        // Not in the project: Grok offers to complete the end of a prompt, which is an `@`, to a file there.
        Self { file: desk.home().join(format!("{name}.gate")) }
    }

    /// Shell that waits for it. Afterwards the variable `word` holds what it was opened with.
    pub(crate) fn shell(&self) -> String {
        let (file, waiting) = (self.file.display(), self.waiting().display().to_string());
        format!("echo $$ >> {waiting}; until [ -s {file} ]; do sleep 0.05; done; read word < {file}")
    }

    /// How often somebody has begun to wait.
    pub(crate) fn waits(&self) -> usize {
        fs::read_to_string(self.waiting()).map_or(0, |text| text.lines().count())
    }

    /// Lets everybody through who waits, and who will.
    pub(crate) fn open(&self, word: &str) {
        // Whole, because somebody looks at it all the time.
        let aside = self.file.with_extension("new");
        fs::write(&aside, format!("{word}\n")).unwrap();
        fs::rename(aside, &self.file).unwrap();
    }

    /// Shuts it again.
    pub(crate) fn shut(&self) {
        fs::remove_file(&self.file).unwrap();
    }

    fn waiting(&self) -> PathBuf {
        self.file.with_extension("waiting")
    }
}

/// Waits until it holds, at most so long as anything may take; whether it does.
pub(crate) fn wait_until(condition: impl Fn() -> bool) -> bool {
    let until = Instant::now() + BOUND;
    while !condition() {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}
