//! The schema that the tables live in, and the statements with its name filled in.

use std::sync::Arc;

use sqlx::AssertSqlSafe;

/// The schema unless said otherwise.
pub(crate) const DEFAULT_SCHEMA: &str = "system";

/// A schema's name that is no plain identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot be a schema of outbox: a lower-case letter or `_`, then letters, digits and `_`, at most 63 in all"
)]
pub struct InvalidSchema(String);

/// A validated schema name: `[a-z_][a-z0-9_]{0,62}`, so that quoting it can never go wrong.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Schema(Arc<str>);

impl Schema {
    /// The schema of this name.
    ///
    /// # Errors
    /// When the name is no lower-case identifier, or begins with `pg_`, which PostgreSQL keeps to itself.
    pub fn new(name: &str) -> Result<Self, InvalidSchema> {
        if is_identifier(name) { Ok(Self(name.into())) } else { Err(InvalidSchema(name.chars().take(80).collect())) }
    }

    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A statement file with `:schema.` replaced, the notation that `psql` understands too.
    pub(crate) fn fill(&self, text: &str) -> Statement {
        Statement(text.replace(":schema.", &format!("\"{}\".", self.0)).into())
    }

    /// A table's name, qualified and quoted.
    pub(crate) fn table(&self, name: &str) -> String {
        format!("\"{}\".{name}", self.0)
    }

    /// The NOTIFY channel of this schema. A channel has 63 bytes as an identifier has, so a long name is shortened.
    pub(crate) fn channel(&self) -> String {
        let full = format!("outbox_{}", self.0);
        if full.len() <= 63 { full } else { format!("{}_{:016x}", &full[..46], outbox_core::name::hash(&self.0)) }
    }
}

/// Whether a name needs no quotes to mean itself, and is no name that PostgreSQL keeps to itself.
pub(crate) fn is_identifier(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let goes_on = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    starts && goes_on && name.len() <= 63 && !name.starts_with("pg_")
}

impl Default for Schema {
    fn default() -> Self {
        Self(DEFAULT_SCHEMA.into())
    }
}

/// A statement, ready to run; cloning it copies no text.
#[derive(Debug, Clone)]
pub(crate) struct Statement(Arc<str>);

impl Statement {
    /// The text for sqlx. It holds no input but the schema's validated name.
    pub(crate) fn text(&self) -> AssertSqlSafe<Arc<str>> {
        AssertSqlSafe(Arc::clone(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `[a-z_][a-z0-9_]{0,62}` and not `pg_`, letter by letter.
    fn by_the_book(name: &str) -> bool {
        let is_letter = |c| "abcdefghijklmnopqrstuvwxyz_".contains(c);
        let mut letters = name.chars();
        letters.next().is_some_and(is_letter)
            && letters.all(|c| is_letter(c) || "0123456789".contains(c))
            && name.chars().count() < 64
            && !name.starts_with("pg_")
    }

    proptest! {
        /// Exactly the plain identifiers are schemas, every other name is refused by name, and what is filled in is the name in quotes.
        #[test]
        fn exactly_plain_identifiers_are_schemas(name in "(pg_|PG_)?[a-z_][a-z0-9_]{0,6}[-A-Z0-9a-z_\"'; .$\u{0}\u{e9}\u{130}]?[a-z0-9_]{0,3}|[a-z]{60,66}|.{0,90}") {
            match Schema::new(&name) {
                Ok(schema) => {
                    prop_assert!(by_the_book(&name), "{:?}", name);
                    prop_assert_eq!(schema.fill("a :schema.b, :schema.c").0.to_string(), format!("a \"{name}\".b, \"{name}\".c"));
                }
                Err(error) => {
                    prop_assert!(!by_the_book(&name), "{:?}", name);
                    let shown: String = name.chars().take(80).collect();
                    let said = error.to_string();
                    let expected = format!("`{shown}` cannot be a schema of outbox: ");
                    prop_assert!(said.starts_with(&expected), "{}", said);
                }
            }
        }

        /// Each schema has a channel of its own, which is an identifier too.
        #[test]
        fn channels_are_identifiers_of_their_own(one in "[a-z]{1,3}|[a-z]{50,61}", other in "[a-z]{1,3}|[a-z]{50,61}", tail in "[a-z]{2}") {
            let channel = |name: &str| Schema::new(name).expect("an identifier").channel();
            let (longer, first) = (format!("{one}{tail}"), channel(&one));
            prop_assert!(by_the_book(&first));
            prop_assert_ne!(&channel(&longer), &first);
            prop_assert_eq!(channel(&other) == first, one == other);
        }
    }

    #[test]
    fn only_plain_identifiers_are_schemas() {
        for good in ["system", "_x", "a1_b2", &"a".repeat(63)] {
            assert!(Schema::new(good).is_ok(), "{good}");
        }
        for bad in ["", "System", "1a", "a-b", "a.b", "a\"b", "a b", "pg_catalog", "é", &"a".repeat(64)] {
            assert!(Schema::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_channel_fits_and_tells_schemas_apart() {
        let long = |last| Schema::new(&format!("{}{last}", "a".repeat(62))).expect("valid").channel();
        assert_eq!(Schema::default().channel(), "outbox_system");
        assert!(long('b').len() <= 63);
        assert_ne!(long('b'), long('c'));
    }
}
