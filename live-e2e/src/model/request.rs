//! A request as it came, and what a test reads in it: texts by role, results of tools, tools that are offered.

use serde_json::Value;

use super::{anthropic, chat, responses};

/// Whose text it is, as the wire says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The instructions of the CLI, and what it adds as such.
    System,
    /// `OpenAI`'s second kind of instructions.
    Developer,
    /// The person, and what a CLI gives out as the person's.
    User,
    /// The model.
    Assistant,
}

impl Role {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "system" => Self::System,
            "developer" => Self::Developer,
            "assistant" => Self::Assistant,
            _ => Self::User,
        }
    }
}

/// One text in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Whose it is.
    pub role: Role,
    /// What it says, whole.
    pub text: String,
}

/// What a conversation consists of, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Text(Text),
    /// What came of a tool.
    Result(String),
}

/// Which format a request is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Anthropic,
    Responses,
    Chat,
}

/// A request that a CLI made.
#[derive(Debug, Clone)]
pub struct Request {
    /// `POST` and the like.
    pub method: String,
    /// The path, without a query.
    pub path: String,
    /// The body, or `null` where there was none; of one that is no JSON a string.
    pub body: Value,
}

impl Request {
    /// Whether it asks a model for an answer.
    pub fn is_turn(&self) -> bool {
        self.wire().is_some()
    }

    /// Whether it is a turn of the conversation itself: one that offers tools. A title or a summary offers none.
    pub fn offers_tools(&self) -> bool {
        !self.tools().is_empty()
    }

    /// The texts of the conversation in order, the CLI's own instructions first.
    pub fn texts(&self) -> Vec<Text> {
        let texts = self.items().into_iter().filter_map(|item| match item {
            Item::Text(text) => Some(text),
            Item::Result(_) => None,
        });
        texts.collect()
    }

    /// What the model has been told: every text that is not its own, and every result of a tool.
    pub fn context(&self) -> String {
        let told = self.items().into_iter().filter_map(|item| match item {
            Item::Text(text) if text.role == Role::Assistant => None,
            Item::Text(Text { text, .. }) | Item::Result(text) => Some(text),
        });
        told.collect::<Vec<_>>().join("\n")
    }

    /// The first text that is not the model's own and holds this.
    pub fn told(&self, needle: &str) -> Option<Text> {
        self.texts().into_iter().find(|text| text.role != Role::Assistant && text.text.contains(needle))
    }

    /// The results of tools, in order.
    pub fn tool_results(&self) -> Vec<String> {
        let results = self.items().into_iter().filter_map(|item| match item {
            Item::Result(text) => Some(text),
            Item::Text(_) => None,
        });
        results.collect()
    }

    /// The names of the tools that it offers.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        let name = |tool: &Value| {
            let name = tool["name"].as_str().or_else(|| tool["function"]["name"].as_str());
            name.or_else(|| tool["type"].as_str()).map(str::to_owned)
        };
        tools.iter().filter_map(name).collect()
    }

    pub(super) fn wire(&self) -> Option<Wire> {
        if self.method != "POST" {
            return None;
        }
        match self.path.rsplit_once('/')?.1 {
            "messages" => Some(Wire::Anthropic),
            "responses" => Some(Wire::Responses),
            "completions" => Some(Wire::Chat),
            _ => None,
        }
    }

    pub(super) fn items(&self) -> Vec<Item> {
        match self.wire() {
            Some(Wire::Anthropic) => anthropic::items(&self.body),
            Some(Wire::Responses) => responses::items(&self.body),
            Some(Wire::Chat) => chat::items(&self.body),
            None => Vec::new(),
        }
    }
}

/// The texts of a content that is a string, or a list of blocks that have one under `text`.
pub(super) fn texts_of(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => blocks
            .iter()
            .filter_map(|block| block.as_str().or_else(|| block["text"].as_str()).map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    }
}
