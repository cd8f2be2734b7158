//! The map of the house.
//!
//! Arrows run one way: `cli → register, moments → digest, deferred → harness → home, config, text → the engine`, and `env` stands below all of them.
//! A test (`tests/arrows.rs`) holds that.

pub mod cli;
pub mod config;
pub mod deferred;
pub mod digest;
pub mod env;
pub mod harness;
pub mod home;
pub mod moments;
pub mod register;
pub mod text;
