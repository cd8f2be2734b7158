//! Starting the leader: fork, a clean slate, exec.
//!
//! What the program gets: a session and a process group of its own without a controlling terminal, descriptors 0, 1
//! and 2 and no other, no blocked signal, every disposition at its default, and a SIGKILL when whoever spawned it
//! dies (`PR_SET_PDEATHSIG`). A descendant does not inherit the latter; the lifeline is for those.

use std::ffi::{CString, OsStr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::signal::SigSet;

use super::error::Step;
use super::sys;
use super::wire::{Spec, Stdio};

/// The search path where the environment has none, as glibc has it.
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";

/// A leader that was forked. Whether its exec worked is read from `exec`: nothing and the end, or what failed.
pub(crate) struct Spawned {
    pub(crate) pid: i32,
    pub(crate) exec: OwnedFd,
}

/// What was read from [`Spawned::exec`].
pub(crate) enum Exec {
    Pending,
    Running,
    Failed(Step, i32),
}

/// Everything the child needs, made before the fork: the child must not allocate.
struct Prepared {
    /// The paths to try, in order.
    candidates: Vec<CString>,
    argv: Pointers,
    /// For a script without `#!`: `/bin/sh`, a place for the script, and the arguments of `argv`.
    shell: Vec<*const libc::c_char>,
    environment: Pointers,
    cwd: Option<CString>,
    /// Descriptors to mark close-on-exec one by one where the kernel cannot do it at once.
    inherited: Vec<RawFd>,
}

/// A null-terminated array of C strings, and the strings.
struct Pointers {
    _strings: Vec<CString>,
    raw: Vec<*const libc::c_char>,
}

impl Pointers {
    fn new(strings: Vec<CString>) -> Self {
        let raw = strings.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Self { _strings: strings, raw }
    }
}

/// Forks and starts the program.
pub(crate) fn spawn(spec: &Spec, stdio: &Stdio) -> Result<Spawned, Errno> {
    let mut prepared = Prepared::new(spec);
    let stdio = [
        sys::duplicate_above_2(std::os::fd::AsFd::as_fd(&stdio.stdin))?,
        sys::duplicate_above_2(std::os::fd::AsFd::as_fd(&stdio.stdout))?,
        sys::duplicate_above_2(std::os::fd::AsFd::as_fd(&stdio.stderr))?,
    ];
    let (read, write) = nix::unistd::pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
    let failure = sys::duplicate_above_2(std::os::fd::AsFd::as_fd(&write))?;
    drop(write);
    let parent = nix::unistd::getpid().as_raw();

    // No handler of the calling program may run in the child before the dispositions are reset.
    let mut before = SigSet::empty();
    nix::sys::signal::pthread_sigmask(
        nix::sys::signal::SigmaskHow::SIG_SETMASK,
        Some(&SigSet::all()),
        Some(&mut before),
    )?;
    // SAFETY: the child runs only `become_leader`, which is async-signal-safe.
    let forked = Errno::result(unsafe { libc::fork() });
    if forked == Ok(0) {
        // SAFETY: we are the child of a fork, and everything it points to was made before.
        unsafe { become_leader(&mut prepared, &stdio, failure.as_raw_fd(), parent) }
    }
    let _ = before.thread_set_mask();
    Ok(Spawned { pid: forked?, exec: read })
}

impl Spawned {
    /// Looks whether the exec is through. Never waits.
    pub(crate) fn look(&self) -> Exec {
        let mut message = [0_u8; 5];
        match nix::unistd::read(&self.exec, &mut message) {
            Ok(5) => {
                let step = match message[0] {
                    b'R' => Step::Redirect,
                    b'C' => Step::Chdir,
                    _ => Step::Exec,
                };
                let errno = i32::from_ne_bytes([message[1], message[2], message[3], message[4]]);
                Exec::Failed(step, errno)
            }
            Err(Errno::EAGAIN | Errno::EINTR) => Exec::Pending,
            _ => Exec::Running,
        }
    }
}

impl Prepared {
    fn new(spec: &Spec) -> Self {
        let candidates = candidates(&spec.argv[0], path_of(spec));
        let argv: Vec<CString> = spec.argv.iter().map(|arg| c_string(arg)).collect();
        let argv = Pointers::new(argv);
        // The strings are shared: arguments may be megabytes, and the candidates hundreds.
        let mut shell = vec![c"/bin/sh".as_ptr(), std::ptr::null()];
        shell.extend(argv.raw.iter().skip(1));
        Self {
            shell,
            candidates,
            argv,
            environment: Pointers::new(spec.environment.iter().map(|entry| c_string(entry)).collect()),
            cwd: spec.cwd.as_ref().map(|folder| c_string(folder.as_os_str())),
            inherited: if can_mark_all() { Vec::new() } else { sys::open_descriptors() },
        }
    }
}

/// The paths that `execvp(3)` would try.
fn candidates(program: &OsStr, path: &[u8]) -> Vec<CString> {
    if program.as_bytes().contains(&b'/') || program.is_empty() {
        return vec![c_string(program)];
    }
    path.split(|byte| *byte == b':')
        // One that no program can be in is passed over.
        .filter(|folder| folder.len() + program.len() + 1 < usize::try_from(libc::PATH_MAX).unwrap_or(0))
        .map(|folder| {
            let mut full = folder.to_vec();
            if !full.is_empty() {
                full.push(b'/');
            }
            full.extend_from_slice(program.as_bytes());
            c_string(OsStr::from_bytes(&full))
        })
        .collect()
}

fn path_of(spec: &Spec) -> &[u8] {
    spec.environment.iter().find_map(|entry| entry.as_bytes().strip_prefix(b"PATH=")).unwrap_or(DEFAULT_PATH)
}

/// NUL bytes were refused when the spec was made; one that is here all the same ends the string.
fn c_string(text: &OsStr) -> CString {
    let mut bytes = text.to_owned().into_vec();
    if let Some(nul) = bytes.iter().position(|byte| *byte == 0) {
        bytes.truncate(nul);
    }
    CString::new(bytes).unwrap_or_default()
}

/// Whether `close_range(2)` knows `CLOSE_RANGE_CLOEXEC` (Linux 5.11): asked with a range that holds nothing.
fn can_mark_all() -> bool {
    let empty = u32::MAX;
    // SAFETY: no memory arguments; no process has a descriptor of that number.
    unsafe { libc::syscall(libc::SYS_close_range, empty, empty, libc::CLOSE_RANGE_CLOEXEC) == 0 }
}

/// Turns a fresh fork into the leader. Async-signal-safe: system calls on memory that was there before, no more.
///
/// # Safety
/// Only in the child of a fork.
unsafe fn become_leader(prepared: &mut Prepared, stdio: &[OwnedFd; 3], failure: RawFd, parent: i32) -> ! {
    // SAFETY: plain system calls; every pointer is into `prepared`, which the fork copied.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            // It died before it could be asked to take us along.
            libc::_exit(127);
        }
        libc::setsid();
        // By the system call itself: the C library keeps two signals for its own use and would not touch those, but
        // a caller may have us started with them ignored. All zero is the default action, no flag, no mask.
        let default = [0_usize; 8];
        let nothing = std::ptr::null_mut::<usize>();
        for signal in 1..=64 {
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), nothing, 8);
        }
        for (target, source) in (0..).zip(stdio) {
            if libc::dup2(source.as_raw_fd(), target) < 0 {
                report(failure, b'R');
            }
        }
        if let Some(folder) = &prepared.cwd
            && libc::chdir(folder.as_ptr()) != 0
        {
            report(failure, b'C');
        }
        if prepared.inherited.is_empty() {
            libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
        } else {
            for fd in &prepared.inherited {
                if *fd > 2 {
                    libc::fcntl(*fd, libc::F_SETFD, libc::FD_CLOEXEC);
                }
            }
        }
        let mut nothing: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut nothing);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const nothing, std::ptr::null_mut());

        let mut denied = false;
        *libc::__errno_location() = libc::ENOENT;
        for path in &prepared.candidates {
            libc::execve(path.as_ptr(), prepared.argv.raw.as_ptr(), prepared.environment.raw.as_ptr());
            match *libc::__errno_location() {
                libc::ENOEXEC => {
                    prepared.shell[1] = path.as_ptr();
                    libc::execve(
                        c"/bin/sh".as_ptr(),
                        prepared.shell.as_ptr(),
                        prepared.environment.raw.as_ptr(),
                    );
                    report(failure, b'E');
                }
                libc::EACCES => denied = true,
                libc::ENOENT | libc::ENOTDIR | libc::ESTALE | libc::ENODEV | libc::ETIMEDOUT => {}
                _ => report(failure, b'E'),
            }
        }
        if denied {
            *libc::__errno_location() = libc::EACCES;
        }
        report(failure, b'E')
    }
}

/// Tells the parent which step failed, and ends.
///
/// # Safety
/// Only in the child of a fork, right after the failing call.
unsafe fn report(failure: RawFd, step: u8) -> ! {
    // SAFETY: errno is the calling thread's; write reads five bytes.
    unsafe {
        let errno = (*libc::__errno_location()).to_ne_bytes();
        let message = [step, errno[0], errno[1], errno[2], errno[3]];
        libc::write(failure, message.as_ptr().cast(), message.len());
        libc::_exit(127)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_a_slash_is_not_searched_for() {
        assert_eq!(candidates(OsStr::new("./a"), b"/x:/y"), [c"./a".to_owned()]);
        assert_eq!(candidates(OsStr::new(""), b"/x"), [c"".to_owned()]);
    }

    #[test]
    fn a_folder_longer_than_any_path_is_passed_over() {
        let path = [b"/x:/", [b'y'; 5000].as_slice(), b":/z"].concat();
        assert_eq!(candidates(OsStr::new("a"), &path), [c"/x/a".to_owned(), c"/z/a".to_owned()]);
    }

    #[test]
    fn an_empty_folder_in_path_is_the_working_folder() {
        let paths = candidates(OsStr::new("a"), b"/x::/y");
        assert_eq!(paths, [c"/x/a".to_owned(), c"a".to_owned(), c"/y/a".to_owned()]);
    }
}
