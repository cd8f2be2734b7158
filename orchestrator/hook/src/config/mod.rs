//! `config.toml`: its keys, its defaults, its errors.
