//! Text bound for a model: cleaned, without credentials, folded to one line, cut to a budget.
//!
//! Whatever a repository, a person or a program wrote passes through here before a model reads it.

mod clean;
mod compose;
mod cut;
mod line;
pub mod operational;
mod redact;
mod stream;

pub use clean::{clean, clean_bytes, is_forbidden};
pub use compose::{Composed, Composition, Part, Visible};
pub use cut::{cut_bytes, cut_utf16};
pub use line::{LINE_CHARS, line, line_bytes, shorten};
pub use redact::{redact, redact_cut};
pub use stream::Cleaner;
