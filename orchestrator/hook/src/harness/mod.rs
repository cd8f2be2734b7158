//! What is known of each coding-agent harness.
