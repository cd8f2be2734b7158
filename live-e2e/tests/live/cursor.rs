//! Cursor's line: it runs only with the person's own account, and what reached its model cannot be seen. What can be: that
//! its session opens, and that its hooks call dogwatch.

use live_e2e::{Agent, Exit, How};

use crate::Test;
use crate::case::{Case, told};
use crate::sources::opens;

pub(crate) const TESTS: &[Test] =
    &[("a_session_of_your_own_account_opens_and_calls_dogwatch", &[Agent::Cursor], opens_a_session)];

fn opens_a_session(case: &Case) {
    let desk = case.desk();
    let ran = desk.run("Say bye, and nothing else.", &How::default()).unwrap();
    assert_eq!(ran.exit, Exit::Code(0), "{}", told(&desk, &ran));
    assert_eq!(opens(&desk).len(), 1, "{}", told(&desk, &ran));
    assert!(ran.leaks().is_empty(), "{:?}", ran.leaks());
}
