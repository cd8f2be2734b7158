//! What a config says, and what it is told when it says it wrong.

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Loaded {
    parse(PathBuf::from(".dogwatch/config.toml"), text.as_bytes())
}

fn config(text: &str) -> Config {
    let loaded = read(text);
    assert_eq!(loaded.problems, [], "{text}");
    loaded.config
}

fn messages(text: &str) -> String {
    let loaded = read(text);
    assert_eq!(loaded.config, Config::default(), "a config with a problem sets nothing");
    loaded.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_empty_config_is_the_defaults() {
    assert_eq!(config(""), Config::default());
    assert_eq!(config("# nothing\n[digest]\n"), Config::default());
    assert_eq!(Config::default().digest.deadline, Seconds::new(120).unwrap());
    let nothing = Network { deadline: Seconds::new(120).unwrap(), built_in: vec![], checks: vec![] };
    assert_eq!(config("[network]\n").network, nothing);
}

#[test]
fn every_key_is_read() {
    let config = config(
        r#"
        [digest]
        deadline = 30
        drop = ["capabilities", "next-step"]

        [[digest.stage]]
        name = "lint"
        command = ["./lint", "--fast"]
        deadline = 7
        on = "both"

        [[digest.stage]]
        name = "tickets"
        command = "tickets | head -n 3"

        [network]
        deadline = 60
        built_in = ["gh-auth", "remote"]

        [[network.check]]
        name = "releases"
        command = ["./releases", "--new"]
        sweep = true
        min_interval = 3600

        [[network.check]]
        name = "lint"
        command = "curl -sf https://example.invalid"
        "#,
    );
    let network = config.network;
    assert_eq!(network.deadline, Seconds::new(60).unwrap());
    assert_eq!(network.built_in, [BuiltInCheck::GhAuth, BuiltInCheck::Remote]);
    let [releases, lint] = &network.checks[..] else { panic!("two checks") };
    assert_eq!(releases.name, "releases");
    assert_eq!(releases.program.argv(), ["./releases", "--new"]);
    assert!(releases.sweep);
    assert_eq!(releases.min_interval, Seconds::new(3600).unwrap());
    assert_eq!(lint.program.argv(), ["/bin/sh", "-c", "curl -sf https://example.invalid"]);
    assert!(!lint.sweep);
    assert_eq!(lint.min_interval, Seconds::new(900).unwrap());
    let digest = config.digest;
    assert_eq!(digest.deadline, Seconds::new(30).unwrap());
    assert_eq!(digest.drop, [BuiltIn::Capabilities, BuiltIn::NextStep]);
    assert_eq!(digest.external, None);
    let [lint, tickets] = &digest.stages[..] else { panic!("two stages") };
    assert_eq!(lint.name, "lint");
    assert_eq!(lint.program.argv(), ["./lint", "--fast"]);
    assert_eq!(lint.deadline, Seconds::new(7).unwrap());
    assert_eq!(lint.on, On::Both);
    assert_eq!(tickets.program.argv(), ["/bin/sh", "-c", "tickets | head -n 3"]);
    assert_eq!(tickets.deadline, Seconds::new(5).unwrap());
    assert_eq!(tickets.on, On::Full);
}

#[test]
fn an_external_digest_is_read() {
    let config = config("[digest]\ncommand = [\"./digest\"]\nstages = [\"helm\", \"tickets\"]\n");
    let external = config.digest.external.unwrap();
    assert_eq!(external.command, ["./digest"]);
    assert_eq!(external.stages, ["helm", "tickets"]);
}

#[test]
fn the_other_spellings_of_toml_say_the_same() {
    let written = config("[digest]\ndeadline = 9\n[[digest.stage]]\nname = \"a\"\ncommand = \"a\"\n");
    assert_eq!(config("digest.deadline = 9\ndigest.stage = [{ name = \"a\", command = \"a\" }]\n"), written);
    assert_eq!(config("digest = { deadline = 9, stage = [{ name = \"a\", command = \"a\" }] }\n"), written);
    assert_eq!(
        config("\u{feff}[digest]\r\ndeadline = 9\r\n[[digest.stage]]\r\nname = \"a\"\r\ncommand = \"a\"\r\n"),
        written
    );
}

#[test]
fn unknown_keys_are_errors_with_a_suggestion() {
    insta::assert_snapshot!(messages("[digest]\n  deadlin = 3\n[digset]\nx = 1\n[[digest.stage]]\nname = \"a\"\ncommand = \"b\"\nonn = \"full\"\n"), @r#"
    .dogwatch/config.toml:2:3: digest.deadlin: unknown key; did you mean "deadline"?
    .dogwatch/config.toml:3:2: digset: unknown table; did you mean "digest"?
    .dogwatch/config.toml:8:1: digest.stage "a": onn: unknown key; did you mean "on"?
    "#);
}

#[test]
fn keys_that_resemble_nothing_are_told_what_there_is() {
    insta::assert_snapshot!(messages("zebra = 1\n[digest]\nxylophone = 3\n"), @r#"
    .dogwatch/config.toml:1:1: zebra: unknown key; expected one of digest, network, scope, operational
    .dogwatch/config.toml:3:1: digest.xylophone: unknown key; expected one of deadline, drop, command, stages, stage
    "#);
}

#[test]
fn a_key_of_another_table_is_told_where_it_belongs() {
    insta::assert_snapshot!(messages("deadline = 3\nname = \"a\"\n[scope]\nlabel = \"A\"\ncommand = [\"a\"]\n[digest]\nrequire = []\n[[digest.stage]]\nname = \"a\"\ncommand = \"b\"\ndrop = []\n"), @r#"
    .dogwatch/config.toml:1:1: deadline: unknown key; put it below [digest]
    .dogwatch/config.toml:2:1: name: unknown key; put it below [[digest.stage]]
    .dogwatch/config.toml:4:1: scope.label: unknown key; put it below [operational]
    .dogwatch/config.toml:5:1: scope.command: unknown key; put it below [digest]
    .dogwatch/config.toml:7:1: digest.require: unknown key; put it below [scope]
    .dogwatch/config.toml:11:1: digest.stage "a": drop: unknown key; put it below [digest]
    "#);
    insta::assert_snapshot!(messages("[[stage]]\nname = \"a\"\n[[stages]]\nname = \"b\"\n"), @"
    .dogwatch/config.toml:1:3: stage: unknown table; did you mean [[digest.stage]]?
    .dogwatch/config.toml:3:3: stages: unknown table; did you mean [[digest.stage]]?
    ");
}

#[test]
fn values_say_what_was_expected_and_found() {
    insta::assert_snapshot!(messages(r#"
[digest]
deadline = "30s"
drop = ["helm", "capabilites", 3, "zzz"]
command = []
stages = "all"
"#), @r#"
    .dogwatch/config.toml:3:12: digest.deadline: expected whole seconds from 1 to 86400, found the text "30s"
    .dogwatch/config.toml:4:17: digest.drop[1]: "capabilites" is no built-in stage; did you mean "capabilities"?
    .dogwatch/config.toml:4:32: digest.drop[2]: expected a built-in stage, found the number 3
    .dogwatch/config.toml:4:35: digest.drop[3]: "zzz" is no built-in stage; expected one of helm, instructions, wakes, orientation, follow-ups, repository, network, work, capabilities, profile, next-step
    .dogwatch/config.toml:5:11: digest.command: expected a program and its arguments, found an empty array
    .dogwatch/config.toml:6:10: digest.stages: expected an array of stage ids, found the text "all"
    "#);
}

#[test]
fn seconds_are_whole_and_bounded() {
    for value in
        ["0", "-1", "86401", "1.5", "true", "1979-05-27", "[30]", "{ s = 30 }", "9223372036854775807"]
    {
        let message = messages(&format!("[digest]\ndeadline = {value}\n"));
        assert!(
            message.starts_with(
                ".dogwatch/config.toml:2:12: digest.deadline: expected whole seconds from 1 to 86400, found "
            ),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1);
    }
}

#[test]
fn stages_say_which_of_them_is_wrong() {
    insta::assert_snapshot!(messages(r#"
[[digest.stage]]
command = ["a"]

[[digest.stage]]
name = "helm"
command = []

[[digest.stage]]
name = "two words"
command = ["", "x"]
deadline = 0
on = "never"

[[digest.stage]]
name = "twin"
command = ["a", 1, "b\u0000"]

[[digest.stage]]
name = "twin"
command = "  "

[[digest.stage]]
name = "x"
command = 3
"#), @r#"
    .dogwatch/config.toml:2:1: digest.stage[0].name: missing
    .dogwatch/config.toml:6:1: digest.stage "helm": name: "helm" is a built-in stage; expected a name of its own
    .dogwatch/config.toml:7:11: digest.stage "helm": command: expected a program and its arguments, found an empty array
    .dogwatch/config.toml:10:8: digest.stage "two words": name: expected a name of at most 64 ASCII letters, digits, ".", "_", "-", found the text "two words"
    .dogwatch/config.toml:11:11: digest.stage "two words": command: expected a program in first place, found an array
    .dogwatch/config.toml:12:12: digest.stage "two words": deadline: expected whole seconds from 1 to 86400, found the number 0
    .dogwatch/config.toml:13:6: digest.stage "two words": on: expected "full", "reemit" or "both", found the text "never"
    .dogwatch/config.toml:17:17: digest.stage "twin": command[1]: expected text, found the number 1
    .dogwatch/config.toml:17:20: digest.stage "twin": command[2]: expected text without a NUL character, found the text "b\u{0}"
    .dogwatch/config.toml:20:1: digest.stage "twin": name: another stage is named "twin"
    .dogwatch/config.toml:21:11: digest.stage "twin": command: expected a command, found the text "  "
    .dogwatch/config.toml:25:11: digest.stage "x": command: expected an array of a program and its arguments, or one line for /bin/sh, found the number 3
    "#);
}

#[test]
fn keys_that_do_not_go_together_are_refused() {
    insta::assert_snapshot!(messages("[digest]\nstages = [\"a\"]\n"), @".dogwatch/config.toml:2:1: digest.stages: only beside digest.command, which is missing");
    insta::assert_snapshot!(messages("[digest]\ncommand = [\"a\"]\nstages = [\"a\", \"b\", \"a\"]\n[[digest.stage]]\nname = \"a\"\ncommand = \"b\"\n"), @r#"
    .dogwatch/config.toml:2:1: digest.command: either one external digest or [[digest.stage]], not both
    .dogwatch/config.toml:3:1: digest.stages: "a" is there twice
    "#);
}

#[test]
fn checks_say_which_of_them_is_wrong() {
    insta::assert_snapshot!(messages(r#"
[network]
deadline = 0
built_in = ["remote", "gh-aut", 3, "zzz"]
interval = 3

[[network.check]]
command = ["a"]

[[network.check]]
name = "remote"
command = []

[[network.check]]
name = "twin"
command = 3
sweep = "yes"
min_interval = 1.5

[[network.check]]
name = "twin"
command = "a"
deadline = 3
on = "full"
"#), @r#"
    .dogwatch/config.toml:3:12: network.deadline: expected whole seconds from 1 to 86400, found the number 0
    .dogwatch/config.toml:4:23: network.built_in[1]: "gh-aut" is no built-in check; did you mean "gh-auth"?
    .dogwatch/config.toml:4:33: network.built_in[2]: expected a built-in check, found the number 3
    .dogwatch/config.toml:4:36: network.built_in[3]: "zzz" is no built-in check; expected one of remote, gh-auth
    .dogwatch/config.toml:5:1: network.interval: unknown key; expected one of deadline, built_in, check
    .dogwatch/config.toml:7:1: network.check[0].name: missing
    .dogwatch/config.toml:11:1: network.check "remote": name: "remote" is a built-in check; expected a name of its own
    .dogwatch/config.toml:12:11: network.check "remote": command: expected a program and its arguments, found an empty array
    .dogwatch/config.toml:16:11: network.check "twin": command: expected an array of a program and its arguments, or one line for /bin/sh, found the number 3
    .dogwatch/config.toml:17:9: network.check "twin": sweep: expected true or false, found the text "yes"
    .dogwatch/config.toml:18:16: network.check "twin": min_interval: expected whole seconds from 1 to 86400, found the number 1.5
    .dogwatch/config.toml:21:1: network.check "twin": name: another check is named "twin"
    .dogwatch/config.toml:23:1: network.check "twin": deadline: unknown key; put it below [network]
    .dogwatch/config.toml:24:1: network.check "twin": on: unknown key; put it below [[digest.stage]]
    "#);
    insta::assert_snapshot!(messages("[network]\nbuilt_in = [\"remote\", \"remote\"]\n"), @r#".dogwatch/config.toml:2:1: network.built_in: "remote" is there twice"#);
}

#[test]
fn a_check_that_stands_in_the_wrong_place_is_told_where_it_belongs() {
    insta::assert_snapshot!(messages("[[network.checks]]\nname = \"a\"\n"), @".dogwatch/config.toml:1:11: network.checks: unknown table; did you mean [[network.check]]?");
    insta::assert_snapshot!(messages("[network]\nchecks = [{ name = \"a\" }]\n"), @r#".dogwatch/config.toml:2:1: network.checks: unknown key; did you mean "check"?"#);
    insta::assert_snapshot!(messages("[[check]]\nname = \"a\"\n[[digest.checks]]\nname = \"a\"\n"), @r#"
    .dogwatch/config.toml:1:3: check: unknown table; did you mean [[network.check]]?
    .dogwatch/config.toml:3:10: digest.checks: unknown table; did you mean [[network.check]]?
    "#);
    insta::assert_snapshot!(messages("[network.check]\nname = \"a\"\n"), @".dogwatch/config.toml:1:10: network.check: expected tables, each below a line [[network.check]], found a table");
    insta::assert_snapshot!(messages("[[network]]\n"), @".dogwatch/config.toml:1:3: network: expected a table, found an array of tables");
    insta::assert_snapshot!(messages("built_in = []\n[network]\nsweep = true\n[[digest.stage]]\nname = \"a\"\ncommand = \"b\"\nmin_interval = 3\n"), @r#"
    .dogwatch/config.toml:1:1: built_in: unknown key; put it below [network]
    .dogwatch/config.toml:3:1: network.sweep: unknown key; put it below [[network.check]]
    .dogwatch/config.toml:7:1: digest.stage "a": min_interval: unknown key; put it below [[network.check]]
    "#);
    insta::assert_snapshot!(messages("[[network.stage]]\nname = \"a\"\n"), @".dogwatch/config.toml:1:11: network.stage: unknown table; did you mean [[digest.stage]]?");
}

#[test]
fn more_than_32_checks_are_refused() {
    let check = |n| format!("[[network.check]]\nname = \"c{n}\"\ncommand = \"true\"\n");
    let checks = |count: usize| (0..count).map(check).collect::<String>();
    assert_eq!(config(&checks(32)).network.checks.len(), 32);
    insta::assert_snapshot!(messages(&checks(33)), @".dogwatch/config.toml:97:1: network.check: expected at most 32 of them, found 33");
}

#[test]
fn tables_and_values_are_not_mistaken_for_each_other() {
    insta::assert_snapshot!(messages("digest = 3\n"), @".dogwatch/config.toml:1:1: digest: expected a table, found the number 3");
    insta::assert_snapshot!(messages("[[digest]]\ndeadline = 3\n"), @".dogwatch/config.toml:1:3: digest: expected a table, found an array of tables");
    insta::assert_snapshot!(messages("[digest]\nstage = \"lint\"\n"), @r#".dogwatch/config.toml:2:1: digest.stage: expected tables, each below a line [[digest.stage]], found the text "lint""#);
    insta::assert_snapshot!(messages("[digest.stage]\nname = \"lint\"\n"), @".dogwatch/config.toml:1:9: digest.stage: expected tables, each below a line [[digest.stage]], found a table");
    insta::assert_snapshot!(messages("[digest.deadline]\nseconds = 3\n"), @".dogwatch/config.toml:1:1: digest.deadline: expected whole seconds from 1 to 86400, found a table");
    insta::assert_snapshot!(messages("[[digest.stages]]\nname = \"lint\"\n"), @".dogwatch/config.toml:1:10: digest.stages: expected stage ids, found tables; did you mean [[digest.stage]]?");
}

#[test]
fn text_that_is_no_toml_is_told_where() {
    insta::assert_snapshot!(messages("[digest]\ndeadline = \n"), @".dogwatch/config.toml:2:12: not valid TOML: string values must be quoted, expected literal string");
    insta::assert_snapshot!(messages("[digest\n"), @".dogwatch/config.toml:1:8: not valid TOML: unclosed table, expected `]`");
    insta::assert_snapshot!(messages("[digest]\ndeadline = 3\ndeadline = 4\n"), @".dogwatch/config.toml:3:1: not valid TOML: duplicate key");
    insta::assert_snapshot!(messages("[digest]\ndeadline = 99999999999999999999\n"), @".dogwatch/config.toml:2:12: not valid TOML: integer number overflowed");
}

#[test]
fn text_of_the_file_cannot_break_a_message() {
    let text = "[digest]\n\"\\u001b[31m\\n\\u202e\" = 1\ndeadline = \"\\u001b]0;x\\u0007\\r\\n\"\n";
    insta::assert_snapshot!(messages(text), @r#"
    .dogwatch/config.toml:2:1: digest.\u{1b}[31m\u{a}\u{202e}: unknown key; expected one of deadline, drop, command, stages, stage
    .dogwatch/config.toml:3:12: digest.deadline: expected whole seconds from 1 to 86400, found the text "\u{1b}]0;x\u{7}\u{d}\u{a}"
    "#);
}

#[test]
fn a_message_quotes_no_credential() {
    let text = "[digest]\ndeadline = \"see the page https://user:a-long-s3cret@host.invalid\"\n";
    insta::assert_snapshot!(messages(text), @r#".dogwatch/config.toml:2:12: digest.deadline: expected whole seconds from 1 to 86400, found the text "see the page https://***@host.invalid""#);
}

#[test]
fn more_than_64_stages_are_refused() {
    let stage = |n| format!("[[digest.stage]]\nname = \"s{n}\"\ncommand = \"true\"\n");
    let stages = |count: usize| (0..count).map(stage).collect::<String>();
    assert_eq!(config(&stages(64)).digest.stages.len(), 64);
    insta::assert_snapshot!(messages(&stages(65)), @".dogwatch/config.toml:193:1: digest.stage: expected at most 64 of them, found 65");
}

#[test]
fn a_flood_of_problems_is_cut() {
    let line = |n| format!("k{n} = 1\n");
    assert_eq!(read(&(0..10_000).map(line).collect::<String>()).problems.len(), 100);
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    assert_eq!(read(&format!("x = {}", "[".repeat(100_000))).problems.len(), 1);
    assert_eq!(read(&format!("x = {}", "{a=".repeat(100_000))).problems.len(), 1);
    assert!(!read(&format!("{}a = 1", "a.".repeat(100_000))).problems.is_empty());
}

#[test]
fn bytes_that_are_no_text_are_told_where() {
    let loaded = parse(PathBuf::from("config.toml"), b"[digest]\n# \xff\n");
    insta::assert_snapshot!(loaded.problems[0].to_string(), @"config.toml:2:3: expected UTF-8 text, found other bytes");
    assert_eq!(loaded.config, Config::default());
}

#[test]
fn a_missing_file_is_the_defaults_without_a_problem() {
    let home = tempfile::tempdir().unwrap();
    let nothing = Loaded { config: Config::default(), sha256: None, problems: Vec::new() };
    assert_eq!(load(home.path()), nothing);
    assert_eq!(load(&home.path().join("missing")), nothing);
}

#[test]
fn the_hash_is_of_the_bytes_in_the_file() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(FILE_NAME), "abc").unwrap();
    let hash = load(home.path()).sha256.unwrap();
    assert_eq!(
        crate::home::trust::hex(&hash),
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    );
}

#[test]
fn only_a_regular_file_of_bounded_size_is_read() {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join(".dogwatch");
    let file = home.join(FILE_NAME);
    let message = || load(&home).problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");

    std::fs::create_dir_all(&file).unwrap();
    insta::assert_snapshot!(message(), @".dogwatch/config.toml cannot be read: not a regular file");
    std::fs::remove_dir(&file).unwrap();

    std::fs::write(root.path().join("elsewhere"), "").unwrap();
    std::os::unix::fs::symlink(root.path().join("elsewhere"), &file).unwrap();
    insta::assert_snapshot!(message(), @".dogwatch/config.toml cannot be read: not a regular file");
    std::fs::remove_file(&file).unwrap();

    nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap();
    insta::assert_snapshot!(message(), @".dogwatch/config.toml cannot be read: not a regular file");
    std::fs::remove_file(&file).unwrap();

    // As root everything can be read.
    std::fs::write(&file, "").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let said = message();
    assert!(said.is_empty() || said == ".dogwatch/config.toml cannot be read: permission denied", "{said}");
    std::fs::remove_file(&file).unwrap();
    let denied = ReadError::Io(std::io::Error::from_raw_os_error(nix::libc::EACCES));
    assert_eq!(cause(&denied), "permission denied");

    std::fs::write(&file, "#".repeat(1024 * 1024 + 1)).unwrap();
    insta::assert_snapshot!(message(), @".dogwatch/config.toml cannot be read: larger than 1048576 bytes");
}

/// Text that is nearly a config, which reaches further than arbitrary text.
fn nearly_a_config() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "[digest]\n",
        "[[digest.stage]]\n",
        "[network]\n",
        "[[network.check]]\n",
        "built_in",
        "sweep",
        "digest",
        ".",
        "deadline",
        " = ",
        "stage",
        "name",
        "command",
        "drop",
        "stages",
        "on",
        "30",
        "\"helm\"",
        "\"full\"",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\n",
        "\"",
        "'",
        "\"\"\"",
        "\\u001b",
        "\u{feff}",
        "é",
        "\r",
        "#",
        "-1",
        "1e9",
        "\0",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let loaded = parse(PathBuf::from("config.toml"), &bytes);
        prop_assert!(loaded.sha256.is_some());
    }

    #[test]
    fn whatever_is_wrong_is_told_in_single_printable_lines(text in prop_oneof![".{0,200}", nearly_a_config()]) {
        let loaded = read(&text);
        if !loaded.problems.is_empty() {
            prop_assert_eq!(loaded.config, Config::default());
        }
        for problem in loaded.problems {
            let line = problem.to_string();
            prop_assert!(!line.chars().any(char::is_control), "{:?}", line);
        }
    }
}
