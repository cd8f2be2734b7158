//! What the front does when a supervisor is gone: it ends what it can reach and names what it cannot.
//!
//! The kernel has killed the leader by then (`PR_SET_PDEATHSIG`). A front that is itself a subreaper inherits all the
//! rest and ends it like a supervisor would. Any other front sees what is still in the leader's session or group, each
//! process held by a pidfd while it is made sure that it is no stranger with a recycled id.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::libc::SIGKILL;
use tokio::process::Child;

use super::bounds::Containment;
use super::outcome::Survivor;
use super::procfs;
use super::sweep::{kill_children_but, name_survivors, own_pid};
use super::sys;

/// How long the front tries.
const BOUND: Duration = Duration::from_secs(1);

/// What belongs to the front itself and is nobody's orphan, and whether orphans arrive at it at all.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    adopts: bool,
    own: Arc<Mutex<HashSet<i32>>>,
    /// How many starts have orphans go past this process just now.
    apart: Arc<Mutex<usize>>,
}

/// Orphans go past this process.
pub(crate) struct Apart(Option<Arc<Mutex<usize>>>);

impl Drop for Apart {
    fn drop(&mut self) {
        let Some(apart) = &self.0 else { return };
        let mut apart = apart.lock().unwrap_or_else(PoisonError::into_inner);
        *apart -= 1;
        if *apart == 0 {
            let _ = nix::sys::prctl::set_child_subreaper(true);
        }
    }
}

/// What came of it.
pub(crate) struct Ended {
    pub(crate) killed: u64,
    pub(crate) left: Vec<Survivor>,
    pub(crate) containment: Containment,
}

impl Scope {
    pub(crate) fn adopting(self) -> Self {
        Self { adopts: true, ..self }
    }

    /// Starts a child and remembers it, in one: a run that loses its supervisor meanwhile would take it for an orphan.
    pub(crate) fn remember_child(
        &self,
        start: impl FnOnce() -> std::io::Result<Child>,
    ) -> std::io::Result<Child> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let child = start()?;
        own.extend(child.id().map(u32::cast_signed));
        Ok(child)
    }

    /// Orphans go past this process for as long as the result lives. For a start that makes one on purpose.
    pub(crate) fn let_orphans_go(&self) -> Apart {
        if !self.adopts {
            return Apart(None);
        }
        let mut apart = self.apart.lock().unwrap_or_else(PoisonError::into_inner);
        *apart += 1;
        // Should it be refused, the run is below this process, and still its own supervisor.
        let _ = nix::sys::prctl::set_child_subreaper(false);
        Apart(Some(Arc::clone(&self.apart)))
    }

    /// A supervisor of this front.
    pub(crate) fn remember(&self, pid: i32) {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).insert(pid);
    }

    pub(crate) fn forget(&self, pid: Option<u32>) {
        if let Some(pid) = pid.and_then(|pid| i32::try_from(pid).ok()) {
            self.own.lock().unwrap_or_else(PoisonError::into_inner).remove(&pid);
        }
    }

    fn is_own(&self, pid: i32) -> bool {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).contains(&pid)
    }
}

/// Ends what a lost supervisor left behind.
pub(crate) async fn end_what_is_left(scope: &Scope, leader: i32) -> Ended {
    let until = Instant::now() + BOUND;
    let mut killed = 0;
    let mut left = Vec::new();
    if scope.adopts {
        left = kill_children_but(&|pid| scope.is_own(pid), until, &mut killed);
    }
    if leader > 1 {
        let mut pids = Vec::new();
        loop {
            pids.clear();
            for stat in members(leader) {
                match sys::pidfd_open(stat.pid) {
                    Ok(pidfd)
                        if procfs::stat(stat.pid).is_some_and(|now| now.start_time == stat.start_time) =>
                    {
                        killed += u64::from(sys::pidfd_signal(&pidfd, SIGKILL).is_ok() && !scope.adopts);
                        pids.push(stat.pid);
                    }
                    _ => {}
                }
            }
            if pids.is_empty() || Instant::now() >= until {
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        left.extend(name_survivors(&pids));
    }
    let containment = if scope.adopts { Containment::Subtree } else { Containment::Group };
    Ended { killed, left, containment }
}

/// The living members of the leader's session or group.
fn members(leader: i32) -> Vec<procfs::Stat> {
    procfs::all()
        .filter(|stat| stat.session == leader || stat.group == leader)
        .filter(|stat| !stat.is_dead() && stat.pid != own_pid())
        .collect()
}
