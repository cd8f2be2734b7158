//! What is a credential in a URL, and what is none.

use proptest::prelude::*;
use rstest::rstest;

use super::*;

#[rstest]
#[case::user_and_password("https://user:pass@host/x", "https://***@host/x")]
#[case::user_alone("https://ghp_16C7e42F292c69@github.com/o/r.git", "https://***@github.com/o/r.git")]
#[case::password_alone("https://:pass@host", "https://***@host")]
#[case::empty_password("https://token:@host", "https://***@host")]
#[case::port("https://user:pass@host:8443/x", "https://***@host:8443/x")]
#[case::address("https://user:pass@[::1]:80/x", "https://***@[::1]:80/x")]
#[case::other_scheme("postgres://app:s3cret@db/main", "postgres://***@db/main")]
#[case::joined_scheme("git+https://tok@host/x", "git+https://***@host/x")]
#[case::capitals("HTTPS://USER:PASS@HOST", "HTTPS://***@HOST")]
#[case::percent("https://us%40er:p%3Aa%2Fss@host", "https://***@host")]
#[case::at_in_password("https://user:p@ss@host/x", "https://***@host/x")]
#[case::at_in_token("https://to@ken@host", "https://***@host")]
#[case::slash_in_password("https://user:pa/ss@host/x", "https://***@host/x")]
#[case::question_in_password("https://user:p?ss@host", "https://***@host")]
#[case::hash_in_password("https://user:p#ss@host", "https://***@host")]
#[case::quote_in_password(r#"https://user:p"ss@host"#, "https://***@host")]
#[case::angle_in_password("https://user:p<s>s@host", "https://***@host")]
#[case::backslash_in_password(r"https://user:p\ss@host", "https://***@host")]
#[case::digits_and_pipe("https://user:12|34@host", "https://***@host")]
#[case::at_and_slash("https://user:p@/ss@host", "https://***@host")]
#[case::umlauts("https://jörg:pässwört@host/ä", "https://***@host/ä")]
#[case::variable("https://${TOKEN}@host", "https://***@host")]
#[case::ssh_with_password("ssh://user:pass@host/x", "ssh://***@host/x")]
#[case::ssh_with_encoded_password("ssh://user%3Apass@host", "ssh://***@host")]
#[case::entangled("https://user:a#key=s@host/x", "https://***")]
#[case::no_scheme("://user:pass@host", "://***@host")]
#[case::json_slashes(r"https:\/\/user:pass@host\/x", r"https:\/\/***@host\/x")]
#[case::within_a_url(
    "https://h?to=https%3A%2F%2Fu%3Ap%40host%2Fx",
    "https://h?to=https%3A%2F%2F***%40host%2Fx"
)]
#[case::plainly_within_a_url("https://h?to=https://u:p@host/x", "https://h?to=https://***@host/x")]
fn users_and_passwords_are_hidden(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(redact(text), expected);
}

#[rstest]
#[case("https://h/x?access_token=abc", "https://h/x?access_token=***")]
#[case("https://h/x?a=1&token=abc&b=2", "https://h/x?a=1&token=***&b=2")]
#[case("https://h/x?a=1;token=abc", "https://h/x?a=1;token=***")]
#[case("https://h/x?a=1&amp;key=abc", "https://h/x?a=1&amp;key=***")]
#[case(r"https://h/x?a=1\u0026key=abc", r"https://h/x?a=1\u0026key=***")]
#[case("https://h/cb#access_token=abc&token_type=bearer", "https://h/cb#access_token=***&token_type=bearer")]
#[case("https://h?X-Amz-Credential=AK%2F2&X-Amz-Date=2", "https://h?X-Amz-Credential=***&X-Amz-Date=2")]
#[case(
    "https://h?x-amz-signature=ab&X-Amz-Security-Token=c",
    "https://h?x-amz-signature=***&X-Amz-Security-Token=***"
)]
#[case("https://h?user[password]=a&tok%65n=b", "https://h?user[password]=***&tok%65n=***")]
#[case("https://h?token=a%26b%23c/d:e@f?g", "https://h?token=***")]
#[case("https://h?to=%2Fx%3Ftoken%3Dabc%26y%3D1", "https://h?to=%2Fx%3Ftoken%3D***%26y%3D1")]
#[case("GET /x?token=abc HTTP/1.1", "GET /x?token=*** HTTP/1.1")]
#[case("https://h?token=ab'cd)", "https://h?token=***)")]
#[case("https://h?token=https://u:p@h", "https://h?token=***")]
#[case("https://h?token=ab\"cd`e", "https://h?token=***")]
#[case(r"https://h#token='a:\/\/b'@host", r"https://h#token=***:\/\/***@host")]
#[case("https://h?to=https://u@host&token=ab/cd&e", "https://h?to=https://***@host&token=***&e")]
#[case("https://h?to=https://host&token=a/b@c", "https://h?to=https://host&token=***")]
fn values_of_secret_keys_are_hidden(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(redact(text), expected);
}

#[test]
fn keys_of_many_spellings_carry_secrets() {
    for key in [
        "access_token",
        "token",
        "api_key",
        "apikey",
        "api-key",
        "key",
        "password",
        "passwd",
        "pwd",
        "secret",
        "client_secret",
        "auth",
        "sig",
        "signature",
        "X-Amz-Signature",
        "X-Amz-Credential",
        "X-Amz-Security-Token",
        "X-Goog-Signature",
        "X-Goog-Credential",
        "code",
        "private_token",
        "job_token",
        "refreshToken",
        "AWSAccessKeyId",
        "oauth_signature",
        "subscription-key",
        "id_token",
        "jwt",
        "authorization",
    ] {
        for key in [key.to_owned(), key.to_uppercase(), key.to_lowercase()] {
            assert_eq!(redact(&format!("https://h/?{key}=abc")), format!("https://h/?{key}=***"));
        }
    }
}

#[rstest]
#[case("fatal: unable to access 'https://u:p@h/': no", "fatal: unable to access 'https://***@h/': no")]
#[case("see <https://u:p@h/x>, then", "see <https://***@h/x>, then")]
#[case("[docs](https://h?token=abc), more", "[docs](https://h?token=***), more")]
#[case("`https://u:p@h`.", "`https://***@h`.")]
#[case("| https://u:p@h | https://h?key=a |", "| https://***@h | https://h?key=*** |")]
#[case("https://a:b@c https://d:e@f,https://g:h@i", "https://***@c https://***@f,https://***@i")]
#[case(r#"{"url":"https://u:p@h","x":"a@b"}"#, r#"{"url":"https://***@h","x":"a@b"}"#)]
#[case(r#"{"url":"https://h?token=a","x":"y"}"#, r#"{"url":"https://h?token=***","x":"y"}"#)]
#[case(r#""{\"url\":\"https://h?token=a\",\"x\":1}""#, r#""{\"url\":\"https://h?token=***\",\"x\":1}""#)]
#[case("origin\thttps://u:p@h/x.git (fetch)", "origin\thttps://***@h/x.git (fetch)")]
#[case("https://h?token=abc.\nNext", "https://h?token=***.\nNext")]
fn it_works_in_the_middle_of_other_text(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(redact(text), expected);
}

#[rstest]
#[case("https://host/@scope/x and https://host:8080/@scope/x")]
#[case("https://host/~me?mail=a@b.c#a@b")]
#[case("ssh://git@host:22/x.git git@host:owner/x.git git+ssh://git@github.com:owner/x.git")]
#[case("rsync://me@host/x sftp://me@host")]
#[case("mail dev@example.invalid; user:pass@host has no scheme")]
#[case("https://[::1]:80/x [a](http://[::1]:80/) http://[fe80::1]/@x")]
#[case("http://localhost:8080, http://localhost:8080. (http://localhost:8080)")]
#[case("http://HOST:PORT/path")]
#[case("file:///home/me@x/y C://x")]
#[case(r#"{"message":"visit https://host","author":"a@b.c"}"#)]
#[case(r#"{"message":"visit http://host:80","author":"a@b.c"}"#)]
#[case(r"['https://host','a@b']")]
#[case("|https://host|a@b|")]
#[case("https://host\\nfrom a@b")]
#[case("https://@host/ ://")]
#[case("https://h?page=2&sort=keys&keyboard=de&max_tokens=5&token_type=b&author=me")]
#[case("key=value token=abc --password=abc")]
#[case("https://h?token= https://h?token=&x=1 what? = x")]
#[case("https://h?token=***&x https://***@h https://h?token=**…")]
#[case("main, 2 changed; 1 ahead of origin/main")]
fn harmless_text_stays(#[case] text: &str) {
    assert!(matches!(redact(text), Cow::Borrowed(same) if same == text), "{}", redact(text));
}

#[rstest]
#[case("see https://user:pa", "see https://***")]
#[case("see https://ghp_16C7", "see https://***")]
#[case("https://user:p@ss", "https://***")]
#[case("https://user:pa/ss", "https://***")]
#[case("https://h?token=ab", "https://h?token=***")]
#[case("https://host/x", "https://host/x")]
#[case("https://user:pass@host/x", "https://***@host/x")]
#[case("https://host ", "https://host ")]
#[case("https://host\n", "https://host\n")]
fn a_cut_leaves_no_half_of_a_credential(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(redact_cut(text), expected);
}

/// Where hiding a value must not change what the rest is taken for.
#[rstest]
#[case("http://a@host%3Ftoken=http://&b@host")]
#[case("?http://a@host&token=http://b@host&c@d")]
#[case("token://%3F&sig=http://h?token=a&b;https@")]
#[case("http://a@host;%3F&'@&sig=&sig=b\"@")]
#[case("ssh://a%3Fb@host&sig=http://&c:d@host")]
fn what_was_hidden_stays_what_it_is(#[case] text: &str) {
    let once = redact(text);
    assert_eq!(redact(&once), once);
}

#[test]
fn it_takes_linear_time() {
    let pieces = [
        "://",
        "a://b",
        "https://a:b/",
        "?token=",
        "?token=)",
        "&token=;",
        "?%26%26",
        "%3A%2F%2F",
        r":\/\/",
        "a",
        "@",
        "https://a:b\"c/",
        "?a&;",
        "https://a:b@/",
        "('https://a:b')",
        "https://a:b#key=",
        "https://a%3Fb@c&key=",
        "&key=a@",
        "?u=https://a&key=)",
    ];
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for piece in pieces {
            let text = piece.repeat(100_000);
            let _ = (redact(&text), redact_cut(&text));
            let _ = sender.send(());
        }
    });
    // Quadratic, one of them would take minutes.
    for piece in pieces {
        assert!(receiver.recv_timeout(std::time::Duration::from_secs(60)).is_ok(), "{piece:?}");
    }
}

/// What RFC 3986 allows between `://` and `@`; at least one character that stands for a secret.
fn userinfo() -> impl Strategy<Value = String> {
    "[A-Za-z0-9._~!$&*+,;=:-]{0,8}(%[0-9A-F]{2}){0,2}QZ[A-Za-z0-9._~!$&'()*+,;=:-]{0,8}"
}

/// A password that nobody encoded.
fn odd_password() -> impl Strategy<Value = String> {
    "[A-Za-z_!]QZ[!-~ä€]{0,10}[A-Za-z0-9]"
}

/// A secret as the value of a key.
fn value() -> impl Strategy<Value = String> {
    "[A-Za-z0-9._~!$'()*+,;:@/?%=-]{0,8}QZ[A-Za-z0-9._~-]{0,8}"
}

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "token",
        "ACCESS_TOKEN",
        "api-key",
        "sig",
        "X-Amz-Credential",
        "client_secret",
        "code",
    ])
    .prop_map(str::to_owned)
}

/// A URL whose secret part holds `QZ`.
fn url() -> impl Strategy<Value = String> {
    prop_oneof![
        ("(https?|ftp|git\\+https|postgres|[A-P]{2,5})", userinfo(), "(/[a-z@]{0,5}){0,2}")
            .prop_map(|(scheme, user, path)| format!("{scheme}://{user}@host.example{path}")),
        ("(https|ssh)", odd_password())
            .prop_map(|(scheme, odd)| format!("{scheme}://user:{odd}@host.example/x")),
        (key(), value(), "[?#]([a-z]=[0-9]&)?", "(&[a-z]=[0-9])?")
            .prop_map(|(key, value, mark, more)| format!("https://host.example/x{mark}{key}={value}{more}")),
    ]
}

/// Text that is dense in what matters here.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "://",
            ":",
            "/",
            "//",
            "@",
            "?",
            "#",
            "&",
            "&amp;",
            ";",
            "=",
            "token",
            "key",
            "https",
            "ssh",
            "***",
            "…",
            "*",
            "%3A%2F%2F",
            "%40",
            "%3D",
            "%26",
            "%3F",
            r":\/\/",
            r"\u0026",
            "\"",
            "'",
            "`",
            "(",
            ")",
            "[",
            "]",
            "<",
            ">",
            "\\",
            "|",
            " ",
            "\n",
            "a",
            "1",
            "ä",
            "\u{a0}",
            ",",
            ".",
        ])
        .prop_map(str::to_owned),
        url(),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_credential_gets_through(
        urls in prop::collection::vec(url(), 1..4),
        around in prop::sample::select(vec![("", ""), ("see ", ", then"), ("\"", "\""), ("<", ">"), ("`", "`"), ("**", "**"), ("url=", "")]),
    ) {
        let text: Vec<String> = urls.iter().map(|url| format!("{}{url}{}", around.0, around.1)).collect();
        let text = text.join(" ");
        let redacted = redact(&text);
        prop_assert!(!redacted.contains("QZ"), "{} became {}", text, redacted);
    }

    #[test]
    fn no_half_of_a_credential_gets_through(url in url(), cut in any::<prop::sample::Index>()) {
        let end = url.floor_char_boundary(cut.index(url.len() + 1));
        let redacted = redact_cut(&url[..end]).into_owned();
        prop_assert!(!redacted.contains("QZ"), "{} became {}", &url[..end], redacted);
    }

    #[test]
    fn redacting_twice_changes_nothing(text in nasty()) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(&redact(&once), &once);
        let once = redact_cut(&text).into_owned();
        prop_assert_eq!(&redact(&once), &once);
    }

    #[test]
    fn text_without_a_url_stays(text in "[a-zA-Z0-9äöü€🙂 \t\n.,`@:/'\"<>()=&-]{0,80}") {
        prop_assume!(!text.contains("://"));
        prop_assert!(redact(&text) == text, "{}", redact(&text));
    }

    #[test]
    fn what_is_not_of_a_url_stays(before in "[a-zäö€ .,\n]{0,20}", after in "[a-zäö€ .,\n@]{0,20}") {
        let text = format!("{before} https://user:pass@host/x?token=abc {after}");
        prop_assert_eq!(redact(&text), format!("{before} https://***@host/x?token=*** {after}"));
    }
}
