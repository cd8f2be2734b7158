//! What Claude Code 2.1.332 reads in an answer. From the schemas in the program's text.

use super::super::Harness;
use super::super::vocabulary::{Field, Role, Takes, Vocabulary, field};

const TOOL: &[&str] = &["PreToolUse"];
const ASKED: &[&str] = &["PreModelSwitch", "PreSkillShellCommand", "PreToolUse"];
const REQUEST: &[&str] = &["PermissionRequest"];
const AFTER: &[&str] = &["PostToolUse"];
const ELICITED: &[&str] = &["Elicitation", "ElicitationResult"];
/// Events whose `hookSpecificOutput` may carry `additionalContext`.
pub(super) const CONTEXT: &[&str] = &[
    "Notification",
    "PostModelSwitch",
    "PostToolBatch",
    "PostToolUse",
    "PostToolUseFailure",
    "PreToolUse",
    "SessionStart",
    "Setup",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "UserPromptExpansion",
    "UserPromptSubmit",
];

const FIELDS: &[Field] = &[
    field(
        "hookSpecificOutput.permissionDecision",
        Takes::Words(&["allow", "deny", "ask", "defer"]),
        Role::Decides,
        ASKED,
    ),
    field("decision", Takes::Words(&["approve", "block"]), Role::Decides, &[]),
    field("hookSpecificOutput.decision", Takes::Object, Role::Decides, REQUEST),
    field("hookSpecificOutput.decision.behavior", Takes::Words(&["allow", "deny"]), Role::Decides, REQUEST),
    field("hookSpecificOutput.permissionDecisionReason", Takes::Text, Role::Reason, ASKED),
    field("reason", Takes::Text, Role::Reason, &[]),
    field("hookSpecificOutput.decision.message", Takes::Text, Role::Reason, REQUEST),
    field("hookSpecificOutput.decision.interrupt", Takes::Flag, Role::Other, REQUEST),
    field("hookSpecificOutput.decision.updatedInput", Takes::Object, Role::Rewrites, REQUEST),
    field("hookSpecificOutput.decision.updatedPermissions", Takes::List, Role::Rewrites, REQUEST),
    field("hookSpecificOutput.additionalContext", Takes::Text, Role::Context, CONTEXT),
    field("hookSpecificOutput.initialUserMessage", Takes::Text, Role::Context, &["SessionStart"]),
    field(
        "hookSpecificOutput.updatedInput",
        Takes::Object,
        Role::Rewrites,
        &["PreSkillShellCommand", "PreToolUse"],
    ),
    field("hookSpecificOutput.updatedToolOutput", Takes::Anything, Role::Rewrites, AFTER),
    field("hookSpecificOutput.updatedMCPToolOutput", Takes::Anything, Role::Rewrites, AFTER),
    field("continue", Takes::Flag, Role::GoesOn, &[]),
    field("stopReason", Takes::Text, Role::Reason, &[]),
    field("systemMessage", Takes::Text, Role::Message, &[]),
    field("suppressOutput", Takes::Flag, Role::Other, &[]),
    field("terminalSequence", Takes::Text, Role::Other, &[]),
    field("async", Takes::Flag, Role::Other, &[]),
    field("asyncTimeout", Takes::Number, Role::Other, &[]),
    field("hookSpecificOutput", Takes::Object, Role::Frame, &[]),
    field("hookSpecificOutput.hookEventName", Takes::Text, Role::Frame, &[]),
    field("hookSpecificOutput.permissionDisplay", Takes::Anything, Role::Other, TOOL),
    field("hookSpecificOutput.classifierContext", Takes::Text, Role::Other, AFTER),
    field("hookSpecificOutput.sessionTitle", Takes::Text, Role::Other, &["SessionStart", "UserPromptSubmit"]),
    field(
        "hookSpecificOutput.suppressOriginalPrompt",
        Takes::Flag,
        Role::Other,
        &["UserPromptExpansion", "UserPromptSubmit"],
    ),
    field(
        "hookSpecificOutput.watchPaths",
        Takes::List,
        Role::Other,
        &["CwdChanged", "FileChanged", "SessionStart"],
    ),
    field("hookSpecificOutput.reloadSkills", Takes::Flag, Role::Other, &["SessionStart"]),
    field("hookSpecificOutput.retry", Takes::Flag, Role::Other, &["PermissionDenied"]),
    field("hookSpecificOutput.action", Takes::Words(&["accept", "decline", "cancel"]), Role::Other, ELICITED),
    field("hookSpecificOutput.content", Takes::Object, Role::Other, ELICITED),
    field("hookSpecificOutput.worktreePath", Takes::Text, Role::Other, &["WorktreeCreate"]),
    field("hookSpecificOutput.displayContent", Takes::Text, Role::Other, &["MessageDisplay"]),
];

pub(super) static VOCABULARY: Vocabulary =
    Vocabulary { harness: Harness::Claude, fields: FIELDS, is_certain: true };
