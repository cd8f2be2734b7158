//! A whole text by one program of somebody else's, bounded as one child.
//!
//! The program announces each of its stages by writing the stage's id to the file named in the environment variable
//! [`External::STAGE_FILE`], appending or overwriting, so that a truncated text can say what is missing.

use std::future::Future;
use std::path::Path;
use std::pin::pin;

use super::digest::{Digest, Truncation};
use crate::process::{Bounds, Cap, Channel, Command, Containment, End, Leftover, Outcome, StartError};

/// How much of the stage file is read.
const STAGE_FILE_BYTES: usize = 64 * 1024;

/// A program that makes the whole text.
#[derive(Debug, Clone)]
pub struct External<'a> {
    /// The program.
    pub command: Command,
    /// The ids of its stages, in the order in which they come.
    pub stages: &'a [String],
    /// A file for the ids; it exists and is empty.
    pub stage_file: &'a Path,
}

/// What became of it.
#[derive(Debug)]
pub struct ExternalReport {
    /// What became of the program.
    pub outcome: Outcome,
    /// Why its text is not whole, if it is not.
    pub truncation: Option<Truncation>,
    /// The stage it was at when it was stopped, if it had announced one.
    pub unfinished: Vec<String>,
    /// The stages whose id never came.
    pub never_started: Vec<String>,
    /// What it wrote to stderr, its beginning.
    pub stderr: Vec<u8>,
    /// Bytes that fell to the cap.
    pub missing_bytes: u64,
}

impl External<'_> {
    /// The environment variable that names the stage file.
    pub const STAGE_FILE: &'static str = "DOGWATCH_STAGE_FILE";

    /// Runs it under the deadline, grace and cap of `digest`, handing on its text as it comes.
    ///
    /// # Errors
    /// [`StartError`] if the program does not start.
    pub async fn run(
        &self,
        digest: &Digest,
        interrupt: impl Future<Output = i32>,
        mut text: impl FnMut(&[u8]),
    ) -> Result<ExternalReport, StartError> {
        let bounds = Bounds {
            deadline: digest.deadline,
            grace: digest.grace,
            cap: Cap::Bytes(digest.cap_bytes as u64),
            containment: Containment::Subtree,
            leftover: Leftover::Kill,
        };
        let command = self.command.clone().env(Self::STAGE_FILE, self.stage_file);
        let mut run = digest.engine.start(&command, &bounds).await?;
        let stopper = run.stopper();
        let mut handed_on = 0;
        let mut stderr = Vec::new();
        let outcome = {
            let follow = async {
                while let Some(chunk) = run.next().await {
                    match chunk.channel {
                        Channel::Stdout => {
                            handed_on += chunk.bytes.len() as u64;
                            text(chunk.bytes);
                        }
                        Channel::Stderr => {
                            let room = 4096_usize.saturating_sub(stderr.len());
                            stderr.extend_from_slice(&chunk.bytes[..chunk.bytes.len().min(room)]);
                        }
                    }
                }
                run.finish().await
            };
            let mut follow = pin!(follow);
            let mut interrupt = pin!(interrupt);
            let mut was_stopped = false;
            loop {
                tokio::select! {
                    outcome = &mut follow => break outcome,
                    signal = &mut interrupt, if !was_stopped => {
                        was_stopped = true;
                        stopper.stop(Some(signal));
                    }
                }
            }
        };
        let truncation = match outcome.end {
            End::Exited | End::Signaled => None,
            End::Interrupted => Some(Truncation::Interrupted(outcome.interrupted_by.unwrap_or(0))),
            End::SupervisorLost => Some(Truncation::SupervisorLost),
            End::Deadline => Some(Truncation::Deadline(digest.deadline.get())),
        };
        let (unfinished, never_started) =
            if truncation.is_some() { self.missing() } else { (Vec::new(), Vec::new()) };
        Ok(ExternalReport {
            truncation,
            unfinished,
            never_started,
            stderr,
            missing_bytes: outcome.stdout_bytes - handed_on,
            outcome,
        })
    }

    /// The stage that was under way and those whose id never came.
    fn missing(&self) -> (Vec<String>, Vec<String>) {
        let announced = read_beginning(self.stage_file);
        let announced: Vec<&str> = announced.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        // A file that is overwritten holds the last id alone; the order tells that those before it had come.
        let place = |id: &str| self.stages.iter().position(|stage| stage == id);
        let current = announced.iter().rev().find_map(|id| place(id));
        let came = |index: usize, id: &String| {
            current.is_some_and(|current| index <= current) || announced.contains(&id.as_str())
        };
        let never = self.stages.iter().enumerate().filter(|(index, id)| !came(*index, id));
        (
            current.map(|index| self.stages[index].clone()).into_iter().collect(),
            never.map(|(_, id)| id.clone()).collect(),
        )
    }
}

fn read_beginning(path: &Path) -> String {
    use std::io::Read;
    use std::os::unix::fs::OpenOptionsExt;
    let mut bytes = Vec::new();
    // The program may have put anything in its place, a FIFO that nobody writes to included.
    let flags = nix::libc::O_NONBLOCK | nix::libc::O_NOFOLLOW | nix::libc::O_NOCTTY;
    if let Ok(file) = std::fs::File::options().read(true).custom_flags(flags).open(path)
        && file.metadata().is_ok_and(|data| data.is_file())
    {
        let _ = file.take(STAGE_FILE_BYTES as u64).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(file: &str) -> (Vec<String>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stage");
        std::fs::write(&path, file).unwrap();
        let stages = ["a", "b", "c"].map(str::to_owned);
        External { command: Command::new("x"), stages: &stages, stage_file: &path }.missing()
    }

    #[test]
    fn a_file_that_is_overwritten_and_one_that_is_appended_to_tell_the_same() {
        let at_b = (vec!["b".to_owned()], vec!["c".to_owned()]);
        assert_eq!(missing("b\n"), at_b);
        assert_eq!(missing("a\nb"), at_b);
    }

    #[test]
    fn no_id_and_a_foreign_id_tell_that_none_came() {
        assert_eq!(missing(""), (vec![], vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]));
        assert_eq!(missing("zzz\n").1.len(), 3);
    }
}
