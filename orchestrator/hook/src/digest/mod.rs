//! The built-in stages of a session open.

pub mod ground;
