//! What of ours stands in one file, and how it goes in and out: text in, text out.

use super::json::{self, Made, Rejected};
use super::own::{self, Program, ProgramError};
use super::{block, shim};
use crate::harness::Harness;
use crate::harness::registration::Form;

/// Something of ours in a file of a person's.
#[derive(Debug, Clone)]
pub enum Part {
    /// A harness's hooks, or the program that it loads.
    Registration {
        /// Which harness.
        harness: &'static Harness,
        /// What is called.
        program: Program,
    },
    /// Lines in a file of instructions.
    Instructions {
        /// The command that prints the digest.
        rerun: String,
    },
}

/// Why a file is left as it is.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// The harness would not read it either.
    #[error("{0}; repair the file, then try again")]
    Rejected(#[from] Rejected),
    /// This program cannot stand in it.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A file of that name is somebody else's.
    #[error("not written by dogwatch; move it away, then try again")]
    NotOurs,
    /// Somebody wrote between our lines.
    #[error("somebody has written between the lines of dogwatch; take them out by hand, then try again")]
    EditedBlock,
    /// It is text for people and models.
    #[error("not UTF-8 from byte {0} on; repair it, then try again")]
    NotUtf8(usize),
}

/// A file with our part in it.
#[derive(Debug)]
pub struct With {
    /// What it holds then.
    pub content: Vec<u8>,
    /// What of its structure came with us.
    pub made: Option<Made>,
}

/// A file without our part.
#[derive(Debug)]
pub struct Without {
    /// What it holds then; `None` where nothing is left that somebody else had put there.
    pub content: Option<Vec<u8>>,
    /// Whether anything of ours was there.
    pub was_there: bool,
}

impl Part {
    /// The file with our part in it, made new where an older one was there. `earlier` is what came with us before.
    pub fn with(&self, current: Option<&[u8]>, earlier: Option<&Made>) -> Result<With, PartError> {
        match self {
            Part::Registration { harness, program } => match harness.registration.form {
                Form::Hooks { shape, dialect, .. } => {
                    let text = current.map(utf8).transpose()?;
                    let entries = own::entries(harness, program)?;
                    let added = json::add(
                        text,
                        shape,
                        &dialect,
                        &entries,
                        &|command| own::is_entry(harness, command),
                        earlier,
                    )?;
                    Ok(With { content: added.text.into_bytes(), made: Some(added.made) })
                }
                Form::Shim { program: asset } => match current {
                    Some(current) if !shim::is_ours(current) => Err(PartError::NotOurs),
                    _ => Ok(With { content: shim::render(asset, program).into_bytes(), made: None }),
                },
            },
            Part::Instructions { rerun } => {
                let text = current.map(utf8).transpose()?.unwrap_or_default();
                if block::is_edited(text) {
                    return Err(PartError::EditedBlock);
                }
                Ok(With { content: block::with(text, rerun).into_bytes(), made: None })
            }
        }
    }

    /// The file without our part. `made` is what came with us, where that is known.
    pub fn without(&self, current: &[u8], made: Option<&Made>) -> Result<Without, PartError> {
        match self {
            Part::Registration { harness, .. } => match harness.registration.form {
                Form::Hooks { shape, dialect, .. } => {
                    let text = utf8(current)?;
                    let removed =
                        json::remove(text, shape, &dialect, &|command| own::is_ours(harness, command), made)?;
                    Ok(Without {
                        was_there: removed.removed > 0,
                        content: (!removed.is_bare).then(|| removed.text.into_bytes()),
                    })
                }
                Form::Shim { .. } => {
                    let was_there = shim::is_ours(current);
                    Ok(Without { was_there, content: (!was_there).then(|| current.to_owned()) })
                }
            },
            Part::Instructions { .. } => {
                let text = utf8(current)?;
                if block::is_edited(text) {
                    return Err(PartError::EditedBlock);
                }
                let without = block::without(text);
                let was_there = without.is_some();
                let content = without.map_or_else(|| current.to_owned(), String::into_bytes);
                let is_blank = content.iter().all(u8::is_ascii_whitespace);
                Ok(Without { was_there, content: (!(was_there && is_blank)).then_some(content) })
            }
        }
    }

    /// Whether the file is wholly ours, so that an edit of it by somebody else is lost when it is written.
    pub fn is_whole_file(&self) -> bool {
        matches!(self, Part::Registration { harness, .. } if matches!(harness.registration.form, Form::Shim { .. }))
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, PartError> {
    std::str::from_utf8(bytes).map_err(|error| PartError::NotUtf8(error.valid_up_to()))
}
