//! Every file that dogwatch keeps, one owner per file.

pub mod follow_ups;
pub mod pointer;
pub mod read;
pub mod root;
pub mod state;
pub mod trust;
