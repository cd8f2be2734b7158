//! Many bounded runs as one ordered text.
//!
//! Stages work concurrently and speak in order: each has a bound of its own, all stand under one deadline and below
//! one supervisor, and what they say together has one cap. A stage that overruns its own bound is replaced by one
//! line and the next takes its turn; at the deadline of the whole, what is there is kept and a banner names the rest.

mod banner;
mod digest;
mod external;
mod stage;

pub use banner::{Hints, banner, gap_marker};
pub use digest::{Digest, DigestReport, Progress, Truncation};
pub use external::{External, ExternalReport};
pub use stage::{Ran, Render, Stage, StageEnd, StageReport, Work};
