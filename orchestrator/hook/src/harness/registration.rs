//! Where a harness reads its hooks, and what of ours has to stand there. The facts and the entries are each harness's own
//! (`registration.rs` in its folder); merging them into a file is `register/`.

/// How hooks stand in a JSON file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `{"hooks": {EVENT: [{"hooks": [{"type": "command", "command": …, "timeout": …}]}]}}`: groups of handlers.
    Nested,
    /// `{"version": 1, "hooks": {EVENT: [{"command": …, "timeout": …}]}}`: a flat list.
    Flat,
}

/// What a harness takes for JSON. What it refuses, an edit must not touch: nothing in that file works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// `//` and `/* */`.
    pub comments: bool,
    /// A comma behind the last element.
    pub trailing_commas: bool,
    /// A byte-order mark at the beginning.
    pub byte_order_mark: bool,
    /// The only keys that its root may have; `None` where any may stand there.
    pub root_keys: Option<&'static [&'static str]>,
}

/// One hook of ours as it stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The harness's own name of the event.
    pub event: &'static str,
    /// What the harness's shell runs.
    pub command: String,
    /// The bound that the harness is told, in seconds.
    pub timeout: u32,
}
