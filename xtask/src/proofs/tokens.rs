//! Splits Rust source into the few kinds of tokens that matter for finding tests. Strings, characters and plain comments
//! vanish here, so that a brace or a `#[test]` in one of them misleads nobody.

/// What is left of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A line or block of documentation for the item that follows.
    Doc(String),
    /// The inside of `#[..]`.
    Attribute(String),
    /// An identifier, a keyword or a number.
    Word(String),
    /// Any other character.
    Mark(char),
}

/// All tokens of a source file.
pub(super) fn tokens(source: &str) -> Vec<Token> {
    let mut rest = source;
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '#' if rest.starts_with("#[") || rest.starts_with("#![") => attribute(rest, &mut tokens),
            _ => token(rest, first, &mut tokens),
        };
        rest = &rest[length..];
    }
    tokens
}

/// Takes one token or what vanishes, and says how long it is.
fn token(rest: &str, first: char, tokens: &mut Vec<Token>) -> usize {
    match first {
        '/' if rest.starts_with("//") => line_comment(rest, tokens),
        '/' if rest.starts_with("/*") => block_comment(rest, tokens),
        '"' => string(rest),
        '\'' => character_or_lifetime(rest),
        _ if is_word(first) => word(rest, tokens),
        _ => {
            if !first.is_whitespace() {
                tokens.push(Token::Mark(first));
            }
            first.len_utf8()
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn line_comment(rest: &str, tokens: &mut Vec<Token>) -> usize {
    let length = rest.find('\n').unwrap_or(rest.len());
    let line = &rest[..length];
    if line.starts_with("///") && !line.starts_with("////") {
        tokens.push(Token::Doc(line[3..].to_owned()));
    }
    length
}

/// Block comments nest.
fn block_comment(rest: &str, tokens: &mut Vec<Token>) -> usize {
    let mut depth = 0;
    let mut at = 0;
    let length = loop {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
        } else {
            match rest[at..].chars().next() {
                Some(c) => at += c.len_utf8(),
                None => break at,
            }
        }
        if depth == 0 {
            break at;
        }
    };
    if rest.starts_with("/**") && !rest.starts_with("/***") && length > 4 {
        tokens.push(Token::Doc(rest[3..length].trim_end_matches("*/").to_owned()));
    }
    length
}

/// From one quote to the next that is not escaped.
fn string(rest: &str) -> usize {
    let mut escaped = true;
    for (at, c) in rest.char_indices() {
        match c {
            '"' if !escaped => return at + 1,
            '\\' if !escaped => escaped = true,
            _ => escaped = false,
        }
    }
    rest.len()
}

/// `r"..."`, `r#"..."#`: `rest` starts behind the `r`. `None` when it is no raw string.
fn raw_string(rest: &str) -> Option<usize> {
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let inside = rest[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
    Some(hashes + 1 + length)
}

/// `'a'` and `'\n'` are characters, `'a` is a lifetime.
fn character_or_lifetime(rest: &str) -> usize {
    let mut characters = rest.char_indices().skip(1);
    match (characters.next(), characters.next()) {
        (Some((_, '\\')), Some((at, escaped))) => {
            let from = at + escaped.len_utf8();
            rest[from..].find('\'').map_or(rest.len(), |end| from + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

/// Up to the bracket that closes it. The inner form, `#![..]`, belongs to what is around it and is dropped.
fn attribute(rest: &str, tokens: &mut Vec<Token>) -> usize {
    let from = rest.find('[').unwrap_or_default() + 1;
    let (mut depth, mut at) = (1, from);
    // Its strings, characters and comments may hold brackets too.
    let mut inside = Vec::new();
    while let Some(c) = rest[at..].chars().next() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        at += token(&rest[at..], c, &mut inside);
    }
    if rest.starts_with("#[") {
        tokens.push(Token::Attribute(rest[from..at].trim().to_owned()));
    }
    (at + 1).min(rest.len())
}

fn word(rest: &str, tokens: &mut Vec<Token>) -> usize {
    let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    let (word, after) = rest.split_at(length);
    let raw = matches!(word, "r" | "br" | "cr").then(|| raw_string(after)).flatten();
    if let Some(string) = raw {
        return length + string;
    }
    // `r#fn` is a name and no keyword.
    if let Some(name) = after.strip_prefix('#').filter(|name| word == "r" && name.starts_with(is_word)) {
        let length = 2 + name.find(|c| !is_word(c)).unwrap_or(name.len());
        tokens.push(Token::Word(rest[..length].to_owned()));
        return length;
    }
    tokens.push(Token::Word(word.to_owned()));
    length
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Token, tokens};

    fn words(source: &str) -> String {
        let word = |token| match token {
            Token::Word(word) => Some(word),
            _ => None,
        };
        tokens(source).into_iter().filter_map(word).collect::<Vec<_>>().join(" ")
    }

    /// What stands in strings, characters and comments is not seen, however it is quoted.
    #[test]
    fn quoted_text_vanishes() {
        assert_eq!(words(r#"a "b \" c" d"#), "a d");
        assert_eq!(words("a r#\"b \" c\"# d br\"e\" f"), "a d f");
        assert_eq!(words(r"a '{' '\'' '\u{7d}' b"), "a b");
        assert_eq!(words("a /* b /* c */ d */ e // f\ng"), "a e g");
    }

    /// Brackets and quotes within an attribute end neither it nor what follows.
    #[test]
    fn attributes_may_hold_anything() {
        for inside in [r##"a = r#"b"]"#"##, r"a('\'', ']', '[')", "a /* ] */", "a // ]\n", "a[b[c]]", r#"a = "\"]""#] {
            let source = format!("#[{inside}] d");
            assert_eq!(
                tokens(&source),
                [Token::Attribute(inside.trim().to_owned()), Token::Word("d".to_owned())],
                "{source}"
            );
        }
    }

    /// A raw identifier is one name.
    #[test]
    fn raw_identifiers_are_names() {
        assert_eq!(words("fn r#match() { r#fn }"), "fn r#match r#fn");
    }

    proptest! {
        /// Any text is read to its end, also one that breaks off within anything.
        #[test]
        fn any_text_is_read(text in "([\"'#!\\[\\]{}/*\\\\;]|r#|br\"|fn|mod|//|///|/\\*\\*|[a-z\u{e9} \n]){0,40}|.{0,40}") {
            let marks = format!("{text}\n*/\"#");
            let _ = (tokens(&text), tokens(&marks));
        }
    }

    /// A lifetime does not open a quote.
    #[test]
    fn lifetimes_are_no_quotes() {
        assert_eq!(words("fn a<'b>(c: &'b str)"), "fn a b c b str");
    }

    /// Documentation and attributes are kept, comments that look like documentation and inner forms are not.
    #[test]
    fn documentation_and_attributes_are_kept() {
        let source = "//! in\n/// out\n//// no\n/** block */\n#![inner]\n#[path = \"a].rs\"] x";
        assert_eq!(
            tokens(source),
            [
                Token::Doc(" out".to_owned()),
                Token::Doc(" block ".to_owned()),
                Token::Attribute("path = \"a].rs\"".to_owned()),
                Token::Word("x".to_owned()),
            ]
        );
    }
}
