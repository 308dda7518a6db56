//! `Debug` of errors as a person reads it: what `main` returns and what `unwrap` meets is printed so.

use std::error::Error;
use std::fmt;

/// The message and its causes.
pub(crate) fn told(error: &dyn Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{error}")?;
    let mut cause = error.source();
    while let Some(error) = cause {
        write!(f, ": {error}")?;
        cause = error.source();
    }
    Ok(())
}

macro_rules! debug_is_for_people {
    ($($error:ty),* $(,)?) => {
        $(impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::for_people::told(self, f)
            }
        })*
    };
}

debug_is_for_people!(crate::EndpointError, crate::MigrateError, crate::RedeliverError, crate::SettingError);

#[cfg(test)]
mod tests {
    use crate::{EndpointError, MigrateError, SettingError};

    /// No name of a variant, and each cause.
    #[test]
    fn errors_are_printed_in_words() {
        let error = SettingError::Exclude("a b".to_owned());
        assert_eq!(format!("{error:?}"), error.to_string());
        let error = EndpointError::Database(sqlx::Error::RowNotFound);
        assert_eq!(format!("{error:?}"), format!("the database refused: {}", sqlx::Error::RowNotFound));
        let error = MigrateError::NoOutbox("system".to_owned());
        assert_eq!(format!("{error:?}"), error.to_string());
    }
}
