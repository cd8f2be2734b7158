//! The built-in stages of a session open.
//!
//! A stage is a plain function over the [`ground::Ground`]: text without a newline at its end, or `None` when it has
//! nothing to say. Its caller runs it under a bound. Whatever a stage takes from the repository stands in its text as
//! cleaned data.

pub mod capabilities;
pub mod document;
pub mod follow_ups;
pub mod ground;
pub mod instructions;
pub mod next_step;
pub mod orientation;
pub mod plan;
pub mod profile;
pub mod repository;
pub mod run;

mod unreadable;

#[cfg(test)]
mod untouched;
