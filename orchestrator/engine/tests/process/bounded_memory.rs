//! The prefix up to the cap, the rest read, counted and dropped; whatever comes.

use dogwatch_engine::process::{Cap, Command};

use crate::support::{Front, ample, block_on, bounds, capture, engine, misbehave};

const GIB: u64 = 1024 * 1024 * 1024;

#[test]
fn the_prefix_is_kept_and_the_rest_is_counted() {
    let mut capped = ample();
    capped.cap = Cap::Bytes(1000);
    let taken = block_on(capture(misbehave(["not-utf8", "300000"]), capped));
    assert_eq!(taken.stdout, [0xff, 0xfe, 0, b'\n'].repeat(250));
    assert_eq!((taken.outcome.stdout_bytes, taken.outcome.truncated), (300_000, true));
    assert!(taken.outcome.success(), "the child must be able to write it all");
}

#[test]
fn exactly_the_cap_is_whole() {
    let mut capped = ample();
    capped.cap = Cap::Bytes(300_000);
    let taken = block_on(capture(misbehave(["zeros", "300000"]), capped));
    assert_eq!((taken.stdout.len(), taken.outcome.truncated), (300_000, false));
}

#[test]
fn a_cap_of_nothing_keeps_nothing() {
    let mut capped = ample();
    capped.cap = Cap::Bytes(0);
    let taken = block_on(capture(misbehave(["both", "50000"]), capped));
    assert!(taken.stdout.is_empty() && taken.stderr.is_empty());
    assert_eq!((taken.outcome.stdout_bytes, taken.outcome.stderr_bytes), (50_000, 50_000));
}

#[test]
fn everything_is_handed_on_where_there_is_no_cap() {
    let mut all = ample();
    all.cap = Cap::Everything;
    block_on(async {
        let mut run = crate::support::engine().start(&misbehave(["zeros", "5000000"]), &all).await.unwrap();
        let mut bytes = 0;
        while let Some(chunk) = run.next().await {
            bytes += chunk.bytes.len();
        }
        assert_eq!(bytes, 5_000_000);
    });
}

/// The peak of the front while so much comes out of the child.
fn peak_kib(behaviour: &str) -> u64 {
    let bytes = (4 * GIB).to_string();
    let output = std::process::Command::new(crate::support::MISBEHAVE)
        .args(["front", "--quiet", "1", "--peak", "1", "--deadline", "600000", "--"])
        .args([crate::support::MISBEHAVE, behaviour, &bytes])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines().rev();
    let peak = lines.next().unwrap().split_whitespace().nth(1).unwrap().parse().unwrap();
    let report: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(report["stdout_bytes"], 4 * GIB);
    assert_eq!(report["truncated"], true);
    peak
}

#[test]
fn four_gib_of_zeros_need_less_than_12_mib() {
    let peak = peak_kib("zeros");
    assert!(peak < 12 * 1024, "{peak} KiB");
}

#[test]
fn one_line_of_four_gib_needs_less_than_12_mib() {
    let peak = peak_kib("one-line");
    assert!(peak < 12 * 1024, "{peak} KiB");
}

#[test]
fn a_sink_gets_bytes_as_they_come() {
    // The command has not ended, and will not, when its first line is there.
    let marker = crate::support::Marker::new();
    let front = Front::start(&["--deadline", "60000"], &["ignore-term", &marker.0]);
    assert!(crate::support::is_alive(front.leader));
}

#[test]
fn a_reader_that_closes_gives_the_writer_sigpipe() {
    let marker = crate::support::Marker::new();
    let mut all = bounds(60_000, 100);
    all.cap = Cap::Everything;
    block_on(async {
        let command = dogwatch_engine::process::Command::new("/bin/sh").args([
            "-c",
            "while :; do echo yes; done",
            &marker.0,
        ]);
        let mut run = crate::support::engine().start(&command, &all).await.unwrap();
        assert!(run.next().await.is_some());
        run.close_output(dogwatch_engine::process::Channel::Stdout);
        let outcome = run.finish().await;
        assert_eq!(outcome.signal, Some(13), "{outcome:?}");
    });
}

#[test]
fn large_arguments_are_not_multiplied_by_a_long_search_path() {
    let path = "/none:".repeat(500);
    let command = Command::new("sh")
        .args(["-c", "echo ready; exec sleep 100", "sh"])
        .args(std::iter::repeat_n("x".repeat(100 * 1024), 10))
        .env("PATH", path + "/usr/bin:/bin");
    block_on(async {
        let mut run = engine().start(&command, &ample()).await.unwrap();
        assert_eq!(run.next().await.unwrap().bytes, b"ready\n");
        let status = std::fs::read_to_string(format!("/proc/{}/status", run.supervisor().unwrap())).unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let peak: u64 = peak.split_whitespace().next().unwrap().parse().unwrap();
        assert!(peak < 64 * 1024, "the supervisor took {peak} KiB");
        run.stopper().kill();
        run.finish().await;
    });
}
