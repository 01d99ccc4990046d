//! The one abstraction that readers are written over: a borrowed, JSON-like value.
//!
//! A Python object, a parsed JSON value or a cursor into JSON bytes implement [`Node`]; the format readers in
//! [`crate::format`] are written once and never know which one they walk. Keys arrive already resolved to a [`Key`], so that a
//! reader matches on an enum instead of comparing strings, and text is lent to a closure, so that an implementation may
//! decode it into a scratch buffer without leaving a copy behind.
//!
//! Example: `node.each(|key, value| if key == Key::Role { role = Some(value.clone()) })` visits a mapping once, in its order.

/// What a node is, as far as a reader cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `None`, `null`, or a missing value.
    Null,
    /// A truth value.
    Bool,
    /// Any number.
    Number,
    /// A string.
    Text,
    /// A list or tuple.
    List,
    /// A mapping, or an object whose fields read like one.
    Map,
    /// Anything else.
    Other,
}

/// A text lent to a closure.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// The text; a lone surrogate shows as U+FFFD.
    pub str: &'a str,
    /// Whether a lone surrogate had to be replaced: such a text cannot be sent.
    pub lossy: bool,
}

/// A borrowed, JSON-like value. Cloning is cheap (a pointer).
pub trait Node: Clone {
    /// What this value is.
    fn kind(&self) -> Kind;
    /// The value of a `Bool`; false for everything else.
    fn is_true(&self) -> bool;
    /// The value of a non-negative whole `Number`.
    fn as_u64(&self) -> Option<u64>;
    /// Lends the text; `None` when this is no string.
    fn text<R>(&self, f: impl FnOnce(Text<'_>) -> R) -> Option<R>;
    /// Visits the entries of a mapping in their order; nothing for other kinds.
    fn each(&self, f: impl FnMut(Key, &Self));
    /// Visits the elements of a list in order; nothing for other kinds.
    fn elements(&self, f: impl FnMut(u32, &Self));
    /// How many elements a list has, as far as that is known at once.
    fn len_hint(&self) -> usize {
        0
    }
    /// Appends this value as compact JSON, non-ASCII as itself. Strings pass through [`crate::json::string`].
    fn write_json(&self, out: &mut crate::json::Writer);
    /// The name of the type, for error messages.
    fn type_name(&self) -> String;

    /// Visits the elements of a list in order, up to the first error.
    ///
    /// # Errors
    /// What `f` gave.
    fn try_elements<E>(&self, mut f: impl FnMut(u32, &Self) -> Result<(), E>) -> Result<(), E> {
        let mut outcome = Ok(());
        self.elements(|at, element| {
            if outcome.is_ok() {
                outcome = f(at, element);
            }
        });
        outcome
    }
    /// The value under a key; the last one wins where a key stands twice.
    fn get(&self, key: Key) -> Option<Self> {
        let mut found = None;
        self.each(|k, v| {
            if k == key {
                found = Some(v.clone());
            }
        });
        found
    }
    /// The text as an owned string; `None` when this is no string.
    fn to_text(&self) -> Option<String> {
        self.text(|t| t.str.to_owned())
    }
    /// Whether the text equals `other`.
    fn is_text(&self, other: &str) -> bool {
        self.text(|t| t.str == other).unwrap_or(false)
    }
}

macro_rules! keys {
    ($($variant:ident = $text:literal),* $(,)?) => {
        /// A mapping key that some reader knows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Key { $($variant,)* /** Any other key. */ Other }

        impl Key {
            /// Every key but `Other`, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];
            /// The key that is spelled so.
            #[must_use]
            #[allow(non_upper_case_globals)]
            pub fn parse(text: &[u8]) -> Self {
                $(const $variant: &[u8] = $text.as_bytes();)*
                match text { $($variant => Self::$variant,)* _ => Self::Other }
            }
            /// The spelling.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* Self::Other => "" }
            }
        }
    };
}

keys! {
    Role = "role", Content = "content", Type = "type", Text = "text", Id = "id", Name = "name",
    ToolCalls = "tool_calls", ToolCallId = "tool_call_id", Function = "function", Arguments = "arguments",
    FunctionCall = "function_call", Custom = "custom", Input = "input", ToolUseId = "tool_use_id", IsError = "is_error",
    Thinking = "thinking", Data = "data", Refusal = "refusal", ReasoningContent = "reasoning_content",
    Reasoning = "reasoning", ImageUrl = "image_url", Detail = "detail", Source = "source",
    CacheControl = "cache_control", Parts = "parts", Pin = "_pin", Category = "_category", Done = "_done",
    Mark = "_lithify", MarkKind = "kind", Removed = "removed", Carry = "carry",
    AsOf = "as_of", Instructions = "instructions", Files = "files", Errors = "errors", Todos = "todos", Path = "path",
    Action = "action", Outcome = "outcome", Call = "call", Line = "line",
    CallId = "call_id", Output = "output", Summary = "summary", EncryptedContent = "encrypted_content",
    GeminiCall = "functionCall", GeminiResponse = "functionResponse", SnakeResponse = "function_response", Args = "args",
    Response = "response", Error = "error", InlineData = "inlineData", SnakeInlineData = "inline_data", FileData = "fileData",
    SnakeFileData = "file_data", MimeType = "mimeType", SnakeMimeType = "mime_type", Thought = "thought",
    ThoughtSignature = "thoughtSignature", SnakeThoughtSignature = "thought_signature",
    ToolUse = "toolUse", ToolResult = "toolResult", CamelToolUseId = "toolUseId", Status = "status", Json = "json",
    Image = "image", Document = "document", Video = "video", CamelReasoning = "reasoningContent",
    ReasoningText = "reasoningText", CachePoint = "cachePoint",
}
