//! stub
use std::borrow::Cow;
/// stub
pub fn redact(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}
