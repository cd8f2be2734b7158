//! Bounded process trees.
#[doc(hidden)]
pub fn placeholder() {}
