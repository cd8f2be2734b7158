//! What is known of each coding-agent harness.

pub mod ancestry;
mod table;

pub use table::{Harness, TABLE};
