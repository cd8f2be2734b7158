//! Hooks in a JSON file that others write, too: ours are added and taken out in place, and everything else stays byte for
//! byte.
