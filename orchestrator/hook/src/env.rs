//! The only reader of environment variables.
