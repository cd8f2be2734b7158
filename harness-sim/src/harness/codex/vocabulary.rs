//! What Codex 0.171.0 reads in an answer; it refuses one with any other field.

use super::super::Harness;
use super::super::vocabulary::{Field, Role, Takes, Vocabulary, field};

const TOOL: &[&str] = &["PreToolUse"];
const REQUEST: &[&str] = &["PermissionRequest"];
const AFTER: &[&str] = &["PostToolUse"];
const DECIDES: &[&str] = &["PostToolUse", "PreToolUse", "Stop", "SubagentStop", "UserPromptSubmit"];
const CONTEXT: &[&str] = &["PostToolUse", "PreToolUse", "SessionStart", "SubagentStart", "UserPromptSubmit"];
const FRAME: &[&str] =
    &["PermissionRequest", "PostToolUse", "PreToolUse", "SessionStart", "SubagentStart", "UserPromptSubmit"];

const FIELDS: &[Field] = &[
    field(
        "hookSpecificOutput.permissionDecision",
        Takes::Words(&["allow", "deny", "ask"]),
        Role::Decides,
        TOOL,
    ),
    field("decision", Takes::Words(&["approve", "block"]), Role::Decides, DECIDES),
    field("hookSpecificOutput.decision", Takes::Object, Role::Decides, REQUEST),
    field("hookSpecificOutput.decision.behavior", Takes::Words(&["allow", "deny"]), Role::Decides, REQUEST),
    field("hookSpecificOutput.permissionDecisionReason", Takes::Text, Role::Reason, TOOL),
    field("reason", Takes::Text, Role::Reason, DECIDES),
    field("hookSpecificOutput.decision.message", Takes::Text, Role::Reason, REQUEST),
    field("hookSpecificOutput.decision.interrupt", Takes::Flag, Role::Other, REQUEST),
    field("hookSpecificOutput.decision.updatedInput", Takes::Anything, Role::Rewrites, REQUEST),
    field("hookSpecificOutput.decision.updatedPermissions", Takes::Anything, Role::Rewrites, REQUEST),
    field("hookSpecificOutput.additionalContext", Takes::Text, Role::Context, CONTEXT),
    field("hookSpecificOutput.updatedInput", Takes::Anything, Role::Rewrites, TOOL),
    field("hookSpecificOutput.updatedToolOutput", Takes::Anything, Role::Rewrites, AFTER),
    field("hookSpecificOutput.updatedMCPToolOutput", Takes::Anything, Role::Rewrites, AFTER),
    field("continue", Takes::Flag, Role::GoesOn, &[]),
    field("stopReason", Takes::Text, Role::Reason, &[]),
    field("systemMessage", Takes::Text, Role::Message, &[]),
    field("suppressOutput", Takes::Flag, Role::Other, &[]),
    field("hookSpecificOutput", Takes::Object, Role::Frame, FRAME),
    field("hookSpecificOutput.hookEventName", Takes::Text, Role::Frame, FRAME),
];

pub(super) static VOCABULARY: Vocabulary =
    Vocabulary { harness: Harness::Codex, fields: FIELDS, is_certain: true };
