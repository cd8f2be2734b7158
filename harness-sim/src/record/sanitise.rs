//! Taking out of a payload what belongs to a person or a machine.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// The longest text that is kept.
const LONGEST_CHARS: usize = 160;
/// The most entries of a list that are kept.
const MOST_ENTRIES: usize = 12;
const HOME: &str = "/home/dev";
const PROJECT: &str = "/home/dev/project";
const TEMPORARY: &str = "/tmp/dev";

/// The places of a run, and what stands for them in a recording.
#[derive(Debug, Clone)]
pub struct Mask {
    /// Longest first.
    places: Vec<(String, String)>,
}

impl Mask {
    /// A run in this project, with this home.
    pub fn new(project: &Path, home: &Path) -> Self {
        let mut places = Vec::new();
        let temporary = std::env::temp_dir();
        for (path, stands_for) in [(project, PROJECT), (home, HOME), (temporary.as_path(), TEMPORARY)] {
            let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            for path in [path.to_owned(), real] {
                places.extend(forms(&path).into_iter().zip(forms(Path::new(stands_for))));
            }
        }
        places.sort_by_key(|(place, _)| std::cmp::Reverse(place.len()));
        places.dedup();
        Self { places }
    }

    /// The payload without them: paths are a made-up person's, long texts are cut, keys are gone.
    pub fn clean(&self, payload: Value) -> Value {
        self.walk(payload, None)
    }

    fn walk(&self, value: Value, key: Option<&str>) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text, key)),
            Value::Array(entries) => {
                let more = entries.len().saturating_sub(MOST_ENTRIES);
                let mut kept: Vec<Value> =
                    entries.into_iter().take(MOST_ENTRIES).map(|entry| self.walk(entry, key)).collect();
                if more > 0 {
                    kept.push(Value::String(format!("<{more} entries left out>")));
                }
                Value::Array(kept)
            }
            Value::Object(map) => Value::Object(
                map.into_iter()
                    .map(|(key, value)| {
                        let value = self.walk(value, Some(&key));
                        (self.places_of(&key), value)
                    })
                    .collect(),
            ),
            other => other,
        }
    }

    fn text(&self, text: &str, key: Option<&str>) -> String {
        if key.is_some_and(is_secret) && !text.is_empty() {
            return "<API_KEY>".to_owned();
        }
        let text = without_keys(&self.places_of(text));
        let chars = text.chars().count();
        if chars > LONGEST_CHARS { format!("<{chars} characters left out>") } else { text }
    }

    fn places_of(&self, text: &str) -> String {
        self.places.iter().fold(text.to_owned(), |text, (place, stands_for)| {
            text.replace(place.as_str(), stands_for.as_str())
        })
    }
}

/// A path as it is written, and as harnesses make a folder's name of it.
fn forms(path: &Path) -> [String; 3] {
    let path = PathBuf::from(path).display().to_string();
    let dashed = path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let percent = path.replace('%', "%25").replace('/', "%2F");
    [path, dashed, percent]
}

fn is_secret(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["apikey", "api_key", "token", "secret", "password", "authorization"].iter().any(|end| key.ends_with(end))
}

/// Words that look like a key give way to one that does not.
fn without_keys(text: &str) -> String {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(|c: char| !is_inner(c)) {
        let word = piece.trim_end_matches(|c: char| !is_inner(c));
        if looks_like_a_key(word) {
            out.push_str("<API_KEY>");
            out.push_str(&piece[word.len()..]);
        } else {
            out.push_str(piece);
        }
    }
    out.replace("Bearer <API_KEY>", "<API_KEY>")
}

fn looks_like_a_key(word: &str) -> bool {
    let begins = ["sk-", "xai-", "ghp_", "gho_", "github_pat_", "AKIA", "eyJ"];
    let is_known =
        begins.iter().any(|beginning| word.starts_with(beginning) && word.len() > beginning.len() + 3);
    // Ids and hashes have one case, names have words between dashes.
    let is_random = word.split(['/', '-', '_']).any(|part| {
        let count = |test: fn(&u8) -> bool| part.bytes().filter(test).count();
        part.len() >= 32
            && count(u8::is_ascii_uppercase) > 2
            && count(u8::is_ascii_lowercase) > 2
            && count(u8::is_ascii_digit) > 2
    });
    is_known || is_random
}
