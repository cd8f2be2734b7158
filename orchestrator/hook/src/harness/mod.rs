//! What is known of each coding-agent harness: one folder per harness, and what they share.
//!
//! A payload comes in as an [`Event`] ([`read`]), a [`Reply`] goes out as the harness's own answer ([`write()`]). Nothing
//! here decides what the answer is.

pub mod ancestry;
pub mod consent;
pub mod event;
pub mod registration;
pub mod reply;
pub mod stdin;

mod claude;
mod codex;
mod cursor;
mod fields;
mod grok;
mod json;
mod opencode;
mod pi;
mod table;

pub use event::{Event, EventKind, Payload, read};
pub use reply::{Reply, Written, carries_context, neutral, write};
pub use table::{Budget, Harness, TABLE, Tier, Timeout};
