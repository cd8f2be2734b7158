//! Every file that dogwatch keeps, one owner per file.

pub mod baseline;
pub mod complete;
pub mod follow_ups;
pub mod helm;
pub mod homes;
mod ids;
pub mod network;
pub mod once;
pub mod pointer;
mod presence;
pub mod read;
pub mod retention;
pub mod root;
pub mod roots;
pub mod rows;
pub mod scope;
pub mod state;
mod stored;
pub mod trace;
pub mod trust;
pub mod wakes;
pub mod welcome;
