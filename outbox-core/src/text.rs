//! Text joined while compiling: a const panic takes one `&str`, and the messages name the user's own things.

/// Longest text that [`Text`] holds, in bytes. A message that is longer is cut.
const CAPACITY: usize = 1024;

/// A text built in const.
#[derive(Debug, Clone, Copy)]
pub struct Text {
    bytes: [u8; CAPACITY],
    len: usize,
}

impl Text {
    /// An empty text.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: [0; CAPACITY], len: 0 }
    }

    /// The text with `part` behind it.
    #[must_use]
    pub const fn push(mut self, part: &str) -> Self {
        let part = part.as_bytes();
        let mut i = 0;
        while i < part.len() && self.len < CAPACITY {
            self.bytes[self.len] = part[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    /// The whole text.
    #[must_use]
    pub const fn as_str(&self) -> &str {
        let (head, _) = self.bytes.split_at(self.len);
        match std::str::from_utf8(head) {
            Ok(text) => text,
            Err(_) => "(a message too long to show)",
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether two texts are the same, in const.
#[must_use]
pub const fn str_eq(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
