//! stub
use super::{FireError, Simulator};
use crate::recording::Recording;
use crate::report::Firing;
#[derive(Debug)]
pub(super) struct Hosting;
impl Simulator {
    pub(super) fn fire_hosted(&mut self, _: &Recording, mut firing: Firing) -> Result<Firing, FireError> {
        firing.not_applicable = Some("stub".to_owned());
        Ok(firing)
    }
    pub(super) fn end_hosted(&mut self) {}
}
