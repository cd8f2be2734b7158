//! What Grok 1.0.41 reads in an answer: from the guide that the program carries.

use super::super::Harness;
use super::super::vocabulary::{Field, Role, Takes, Vocabulary, field};

const TOOL: &[&str] = &["PreToolUse"];
const AFTER: &[&str] = &["PostToolUse"];
const STOP: &[&str] = &["Stop", "SubagentStop"];
const DECIDES: &[&str] = &["PostToolUse", "PreToolUse", "Stop", "SubagentStop", "UserPromptSubmit"];
const CONTEXT: &[&str] = &["PostToolUse", "PostToolUseFailure", "PreToolUse", "Stop", "SubagentStop"];
/// The older spellings are the last two.
const WORDS: Takes = Takes::Words(&["allow", "deny", "ask", "defer", "approve", "block"]);

const FIELDS: &[Field] = &[
    field("decision", WORDS, Role::Decides, DECIDES),
    field("hookSpecificOutput.permissionDecision", WORDS, Role::Decides, TOOL),
    field("reason", Takes::Text, Role::Reason, DECIDES),
    field("hookSpecificOutput.permissionDecisionReason", Takes::Text, Role::Reason, TOOL),
    field("hookSpecificOutput.additionalContext", Takes::Text, Role::Context, CONTEXT),
    field("hookSpecificOutput.updatedInput", Takes::Object, Role::Rewrites, TOOL),
    field("hookSpecificOutput.updatedToolOutput", Takes::Anything, Role::Rewrites, AFTER),
    field("hookSpecificOutput.updatedMCPToolOutput", Takes::Anything, Role::Rewrites, AFTER),
    field("continue", Takes::Flag, Role::GoesOn, STOP),
    field("stopReason", Takes::Text, Role::Reason, STOP),
    field("hookSpecificOutput", Takes::Object, Role::Frame, &[]),
    field("hookSpecificOutput.hookEventName", Takes::Text, Role::Frame, &[]),
];

pub(super) static VOCABULARY: Vocabulary =
    Vocabulary { harness: Harness::Grok, fields: FIELDS, is_certain: true };
