//! Cursor's CLI: documented, not seen. It talks to its vendor's service alone, so it runs with the person's account
//! (`DOGWATCH_LIVE_REAL=1`), and what reached the model is not seen: only what its hooks were given.

use std::io;

use super::{Driver, Interactive, Opens, Place, strings};

pub(super) struct Cursor;

impl Driver for Cursor {
    fn prepare(&self, _: &Place) -> io::Result<()> {
        Ok(())
    }

    fn environment(&self, _: &Place) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn headless(&self, _: &Place, opens: Opens, prompt: &str) -> io::Result<Vec<String>> {
        let mut arguments = strings(["-p", "--trust"]);
        if opens != Opens::New {
            arguments.push("--continue".to_owned());
        }
        arguments.push(prompt.to_owned());
        Ok(arguments)
    }

    fn shell(&self) -> (&'static str, &'static str) {
        ("Shell", "command")
    }

    fn interactive(&self, opens: Opens) -> Interactive {
        Interactive::Terminal(if opens == Opens::New { Vec::new() } else { strings(["--continue"]) })
    }
}
