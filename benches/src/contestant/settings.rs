//! What the conductor asks for: `--key value ..`, whole numbers all of them.

use std::collections::BTreeMap;

use anyhow::Context as _;

/// Settings by name.
#[derive(Debug)]
pub(super) struct Settings(BTreeMap<String, u64>);

impl Settings {
    pub(super) fn read(arguments: &[String]) -> anyhow::Result<Self> {
        let mut settings = BTreeMap::new();
        for pair in arguments.chunks(2) {
            let [key, value] = pair else { anyhow::bail!("`{}` has no value", pair[0]) };
            let key = key.strip_prefix("--").with_context(|| format!("`{key}` is no `--key`"))?;
            let value = value.parse().with_context(|| format!("`{value}` of `{key}` is no whole number"))?;
            settings.insert(key.to_owned(), value);
        }
        Ok(Self(settings))
    }

    /// One that has to be there.
    pub(super) fn number(&self, key: &str) -> anyhow::Result<u64> {
        self.0.get(key).copied().with_context(|| format!("`--{key}` is missing"))
    }

    /// The same, where less than four thousand millions make sense.
    pub(super) fn small(&self, key: &str) -> anyhow::Result<u32> {
        Ok(self.number(key)?.try_into()?)
    }

    /// One that can be left out; 0 then.
    pub(super) fn number_or_none(&self, key: &str) -> u64 {
        self.0.get(key).copied().unwrap_or(0)
    }

    /// One that says other than the usual, for a trial by hand.
    pub(super) fn small_or(&self, key: &str, usual: u32) -> anyhow::Result<u32> {
        if self.0.contains_key(key) { self.small(key) } else { Ok(usual) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> anyhow::Result<Settings> {
        Settings::read(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn settings_are_pairs_of_a_key_and_a_number() {
        let settings = read("--jobs 100000 --batch 500").unwrap();
        assert_eq!((settings.number("jobs").unwrap(), settings.small_or("batch", 1).unwrap()), (100_000, 500));
        assert_eq!(settings.small_or("prefetch", 7).unwrap(), 7);
        assert!(settings.number("events").unwrap_err().to_string().contains("--events"));
        assert!(read("--jobs").is_err() && read("jobs 1").is_err() && read("--jobs many").is_err());
    }
}
