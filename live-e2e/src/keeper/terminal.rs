//! A terminal between a CLI and a socket: what the CLI draws goes to the socket, what comes from there is typed. It also
//! answers what a CLI asks its terminal, because some wait for that.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use rexpect::process::{PtyProcess, Signal, WaitStatus};

use super::HANG_UP;

const LOOK: Duration = Duration::from_millis(20);

/// Its size, set by the shell before it becomes the CLI.
const LAUNCH: &str = "stty rows 50 cols 160 && exec \"$@\"";

/// What is asked, and what a plain terminal answers: the cursor's place, its kind, its state, its colours.
const QUESTIONS: &[(&[u8], &[u8])] = &[
    (b"\x1b[6n", b"\x1b[1;1R"),
    (b"\x1b[c", b"\x1b[?62;22c"),
    (b"\x1b[5n", b"\x1b[0n"),
    (b"\x1b]10;?", b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
    (b"\x1b]11;?", b"\x1b]11;rgb:0000/0000/0000\x1b\\"),
];

/// Runs a command in a terminal until it ends; if the socket is closed before that, the terminal is hung up.
pub(super) fn run(command: &Command, socket: &UnixStream) -> io::Result<ExitStatus> {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", LAUNCH, "sh"]).arg(command.get_program()).args(command.get_args()).env_clear();
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    let mut process = PtyProcess::new(shell).map_err(io::Error::other)?;
    let handle = || process.get_file_handle().map_err(io::Error::other);
    let (screen, answers, keys) = (handle()?, handle()?, handle()?);
    let (to, from) = (socket.try_clone()?, socket.try_clone()?);
    let drawing = std::thread::spawn(move || draw(screen, answers, to));
    let typing = std::thread::spawn(move || copy(from, keys));
    let mut hung_up: Option<Instant> = None;
    loop {
        match process.status() {
            Some(WaitStatus::Exited(_, code)) => {
                // What was drawn last is still in the terminal; it is at its end when nobody holds it any more.
                let _ = socket.shutdown(Shutdown::Read);
                let until = Instant::now() + Duration::from_secs(1);
                while !drawing.is_finished() && Instant::now() < until {
                    std::thread::sleep(LOOK);
                }
                let _ = socket.shutdown(Shutdown::Both);
                return Ok(ExitStatus::from_raw((code & 0xff) << 8));
            }
            Some(WaitStatus::Signaled(_, signal, _)) => {
                let _ = socket.shutdown(Shutdown::Both);
                return Ok(ExitStatus::from_raw(signal as i32));
            }
            Some(_) => {}
            None => return Err(io::Error::other("the CLI's end was lost")),
        }
        if typing.is_finished() {
            match hung_up {
                None => {
                    hung_up = Some(Instant::now());
                    let _ = process.signal(Signal::SIGHUP);
                }
                Some(since) if since.elapsed() > HANG_UP => {
                    let _ = process.signal(Signal::SIGKILL);
                }
                Some(_) => {}
            }
        }
        std::thread::sleep(LOOK);
    }
}

/// A terminal whose other side is closed gives an error, not an end: both end this.
fn draw(mut screen: impl Read, mut answers: impl Write, mut to: UnixStream) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(length @ 1..) = screen.read(&mut buffer) {
        let bytes = &buffer[..length];
        for (question, answer) in QUESTIONS {
            if bytes.windows(question.len()).any(|window| window == *question) {
                let _ = answers.write_all(answer);
            }
        }
        // Nobody may be looking any more; the CLI draws on all the same.
        let _ = to.write_all(bytes);
    }
}

fn copy(mut from: UnixStream, mut to: impl Write) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}
