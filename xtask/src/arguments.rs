//! Takes a command's own options out of its arguments, so that the rest can be passed on.

/// Removes `name` and says whether it was there.
pub(crate) fn take_flag(arguments: &mut Vec<String>, name: &str) -> bool {
    let before = arguments.len();
    arguments.retain(|argument| argument != name);
    arguments.len() < before
}

/// Removes `name VALUE` or `name=VALUE` and returns the value.
pub(crate) fn take_value(arguments: &mut Vec<String>, name: &str) -> Result<Option<String>, String> {
    let Some(at) = arguments.iter().position(|argument| named(argument, name)) else {
        return Ok(None);
    };
    let argument = arguments.remove(at);
    match argument.split_once('=') {
        Some((_, value)) => Ok(Some(value.to_owned())),
        None if at < arguments.len() => Ok(Some(arguments.remove(at))),
        None => Err(format!("`{name}` needs a value")),
    }
}

/// Removes `name NUMBER`, or takes the default where it is not given.
pub(crate) fn take_number(arguments: &mut Vec<String>, name: &str, default: u64) -> Result<u64, String> {
    let Some(value) = take_value(arguments, name)? else {
        return Ok(default);
    };
    value.parse().map_err(|_| format!("`{name}` needs a whole number, not `{value}`"))
}

fn named(argument: &str, name: &str) -> bool {
    argument.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

#[cfg(test)]
mod tests {
    use super::{take_flag, take_number, take_value};

    fn split(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    /// Both ways to write an option are taken, and what is not ours is left in its order.
    #[test]
    fn takes_its_own_and_leaves_the_rest() {
        let mut arguments = split("--a --seed=7 --b --runs 3 --runsome");
        assert_eq!(take_number(&mut arguments, "--seed", 1), Ok(7));
        assert_eq!(take_number(&mut arguments, "--runs", 20), Ok(3));
        assert_eq!(take_number(&mut arguments, "--limit", 9), Ok(9));
        assert!(take_flag(&mut arguments, "--a"));
        assert_eq!(arguments, split("--b --runsome"));
    }

    /// A missing value and a value that is no number are errors that name the option.
    #[test]
    fn says_what_is_wrong() {
        assert!(take_value(&mut split("--seed"), "--seed").is_err_and(|error| error.contains("--seed")));
        assert!(take_number(&mut split("--runs many"), "--runs", 1).is_err_and(|error| error.contains("many")));
    }
}
