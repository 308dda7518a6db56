//! The name of a statement: what a point is set at, and what is counted.

/// The engine begins each statement with a comment that names it, `-- claim: due jobs become running`; then the name is
/// `claim`. Any other statement is named by its first word in lower case: `commit`, `insert`, `with`.
pub(super) fn name_of(text: &str) -> String {
    let mut rest = text.trim_start();
    loop {
        let after = if let Some(comment) = rest.strip_prefix("--") {
            let (line, after) = comment.split_once('\n').unwrap_or((comment, ""));
            if let Some(name) = named_by(line) {
                return name;
            }
            after
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            return rest[..end].to_ascii_lowercase();
        };
        rest = after.trim_start();
    }
}

/// `claim` of ` claim: due jobs`.
fn named_by(comment: &str) -> Option<String> {
    let name = comment.split_once(':')?.0.trim();
    let is_word = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word.then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::name_of;

    /// A leading comment of the engine's form names the statement; other comments do not.
    #[test]
    fn the_leading_comment_names_a_statement() {
        assert_eq!(name_of("-- claim: due jobs become running.\n--\nwith due as (select 1) select 1"), "claim");
        assert_eq!(name_of("-- settle_tx: mark\nupdate x"), "settle_tx");
        assert_eq!(name_of("-- first, then: second\nUPDATE x"), "update");
        assert_eq!(name_of("-- no statement"), "");
    }

    /// Without one, the first word does.
    #[test]
    fn else_the_first_word_does() {
        assert_eq!(name_of("  COMMIT"), "commit");
        assert_eq!(name_of("begin; set local x = 1"), "begin");
        assert_eq!(name_of("/* a hint */ Select(1)"), "select");
        assert_eq!(name_of(""), "");
    }
}
