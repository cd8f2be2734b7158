//! Reading a payload from stdin, within bounds.
