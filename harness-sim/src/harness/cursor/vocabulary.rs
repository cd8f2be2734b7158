//! What Cursor reads in an answer, as documented and reported.

use super::super::Harness;
use super::super::vocabulary::{Field, Role, Takes, Vocabulary, field};
use super::answer::PERMISSION;

const STOP: &[&str] = &["stop", "subagentStop"];

const FIELDS: &[Field] = &[
    field("permission", Takes::Words(&["allow", "deny", "ask"]), Role::Decides, PERMISSION),
    field("continue", Takes::Flag, Role::GoesOn, &["beforeSubmitPrompt"]),
    field("followup_message", Takes::Text, Role::FollowUp, STOP),
    field("user_message", Takes::Text, Role::Message, &[]),
    field("agent_message", Takes::Text, Role::Message, PERMISSION),
    // In the editor also, undocumented, at beforeSubmitPrompt.
    field("additional_context", Takes::Text, Role::Context, &["postToolUse", "sessionStart"]),
    field("updated_input", Takes::Object, Role::Rewrites, &["preToolUse"]),
    field("updated_mcp_tool_output", Takes::Anything, Role::Rewrites, &["postToolUse"]),
    field("env", Takes::Object, Role::Other, &["sessionStart"]),
];

pub(super) static VOCABULARY: Vocabulary =
    Vocabulary { harness: Harness::Cursor, fields: FIELDS, is_certain: false };
