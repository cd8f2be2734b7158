//! The few facts of `/proc` that the kill rests on.

use std::fs::{self, File};
use std::io::Read;
use std::sync::OnceLock;

/// Whether `/proc` is that of our own PID namespace. Where it is not (a sandbox with a PID namespace that binds the
/// outer one, or none at all) its numbers are other processes here, and everything below finds nothing.
pub(crate) fn is_ours() -> bool {
    // The answer holds for forks of this process, too.
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        fs::read_link("/proc/self").is_ok_and(|own| own.as_os_str() == &*std::process::id().to_string())
    })
}

/// The fields of `/proc/<pid>/stat` that we need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: i32,
    pub(crate) state: u8,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    pub(crate) threads: u32,
    pub(crate) start_time: u64,
}

impl Stat {
    /// Whether the process has ended and merely waits to be reaped. The state is the main thread's; that one may have
    /// ended while others go on.
    pub(crate) fn is_dead(self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }
}

/// Reads `/proc/<pid>/stat`. `None` if there is no such process.
pub(crate) fn stat(pid: i32) -> Option<Stat> {
    if !is_ours() {
        return None;
    }
    let mut text = [0_u8; 512];
    let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut text).ok()?;
    parse_stat(pid, &text[..length])
}

/// The name may hold blanks and parentheses, so the fields are counted from its last `)`.
fn parse_stat(pid: i32, text: &[u8]) -> Option<Stat> {
    let name_end = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&text[name_end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // Fields 20 and 22 of the file; the session was field 6.
    let threads = fields.nth(13)?.parse().ok()?;
    let start_time = fields.nth(1)?.parse().ok()?;
    Some(Stat { pid, state, parent, group, session, threads, start_time })
}

/// The name of a process without anything that could upset a terminal or a report; empty if it is gone.
pub(crate) fn name(pid: i32) -> String {
    fs::read(format!("/proc/{pid}/comm"))
        .map(|bytes| String::from_utf8_lossy(&bytes).chars().filter(|c| !c.is_control()).collect())
        .unwrap_or_default()
}

/// Every process, by a scan of `/proc`.
pub(crate) fn all() -> impl Iterator<Item = Stat> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter_map(stat)
}

/// Hands the children of `pid` (of all its threads) to `each`, in chunks as they are read, at most `limit` of them.
/// The file of a process that forks without end never ends, hence the limit: act on what came and ask again.
pub(crate) fn children(pid: i32, limit: usize, mut each: impl FnMut(i32)) {
    if !is_ours() {
        return;
    }
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return };
    let mut count = 0;
    let mut supported = false;
    for thread in threads.filter_map(Result::ok) {
        let Ok(file) = File::open(thread.path().join("children")) else { continue };
        supported = true;
        count += read_pids(file, limit - count, &mut each);
        if count >= limit {
            return;
        }
    }
    if !supported {
        // A kernel without CONFIG_PROC_CHILDREN.
        all().filter(|stat| stat.parent == pid).take(limit).for_each(|stat| each(stat.pid));
    }
}

/// Reads blank-separated numbers until the end or `limit`.
fn read_pids(mut file: impl Read, limit: usize, each: &mut impl FnMut(i32)) -> usize {
    let mut buffer = [0_u8; 4096];
    let mut number: Option<i32> = None;
    let mut count = 0;
    loop {
        let length = match file.read(&mut buffer) {
            Ok(length) => length,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
        };
        for byte in &buffer[..length] {
            if byte.is_ascii_digit() {
                number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(i32::from(byte - b'0')));
            } else if let Some(pid) = number.take() {
                each(pid);
                count += 1;
                if count >= limit {
                    return count;
                }
            }
        }
        if length == 0 {
            if let Some(pid) = number {
                each(pid);
                count += 1;
            }
            return count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_parentheses_does_not_shift_the_fields() {
        let text = b"7 (a) b) S 1 2 3 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0";
        let stat = parse_stat(7, text).unwrap();
        assert_eq!((stat.state, stat.parent, stat.group, stat.session), (b'S', 1, 2, 3));
        assert_eq!((stat.threads, stat.start_time), (1, 4711));
    }

    #[test]
    fn a_process_whose_main_thread_alone_has_ended_is_not_dead() {
        let stat = |threads: u32| {
            let text = format!("7 (a) Z 1 2 3 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 {threads} 0 4711 0 0");
            parse_stat(7, text.as_bytes()).unwrap()
        };
        assert!(stat(1).is_dead());
        assert!(!stat(2).is_dead());
    }

    #[test]
    fn pids_are_read_whole_across_the_limit_and_without_a_last_blank() {
        let read = |text: &'static str, limit| {
            let mut pids = Vec::new();
            read_pids(text.as_bytes(), limit, &mut |pid| pids.push(pid));
            pids
        };
        assert_eq!(read("12 345 6", 10), [12, 345, 6]);
        assert_eq!(read("12 345 6 ", 2), [12, 345]);
        assert_eq!(read("", 2), [0_i32; 0]);
    }

    #[test]
    fn our_own_stat_is_readable() {
        let me = std::process::id().try_into().unwrap();
        assert!(stat(me).is_some_and(|stat| !stat.is_dead() && stat.start_time > 0));
    }
}
