//! Takes a command's own options out of its arguments, so that the rest can be passed on. What stands behind `--` is for another
//! program in any case.

/// Removes `name` and says whether it was there.
pub(crate) fn take_flag(arguments: &mut Vec<String>, name: &str) -> bool {
    let before = arguments.len();
    let theirs = arguments.split_off(ours(arguments));
    arguments.retain(|argument| argument != name);
    arguments.extend(theirs);
    arguments.len() < before
}

/// Removes `name VALUE` or `name=VALUE` and returns the value.
pub(crate) fn take_value(arguments: &mut Vec<String>, name: &str) -> Result<Option<String>, String> {
    let Some(at) = find(arguments, name) else {
        return Ok(None);
    };
    let argument = arguments.remove(at);
    let value = match argument.split_once('=') {
        Some((_, value)) => value.to_owned(),
        None if at < ours(arguments) => arguments.remove(at),
        None => return Err(format!("`{name}` needs a value")),
    };
    match find(arguments, name) {
        Some(_) => Err(format!("`{name}` is given twice")),
        None => Ok(Some(value)),
    }
}

/// Removes `name NUMBER`, or takes the default where it is not given.
pub(crate) fn take_number(arguments: &mut Vec<String>, name: &str, default: u64) -> Result<u64, String> {
    let Some(value) = take_value(arguments, name)? else {
        return Ok(default);
    };
    value.parse().map_err(|_| format!("`{name}` needs a whole number, not `{value}`"))
}

/// How many arguments stand before `--`.
fn ours(arguments: &[String]) -> usize {
    arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len())
}

fn find(arguments: &[String], name: &str) -> Option<usize> {
    arguments[..ours(arguments)].iter().position(|argument| named(argument, name))
}

fn named(argument: &str, name: &str) -> bool {
    argument.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        assert_eq!(take_value(&mut split("--seed 1 --seed=2"), "--seed"), Err("`--seed` is given twice".to_owned()));
    }

    /// `cargo xtask test -- --matrix` hands `--matrix` to the test programs.
    #[test]
    fn what_is_for_another_program_is_left_alone() {
        let mut arguments = split("a --seed -- --last --seed 7");
        assert!(!take_flag(&mut arguments, "--last"));
        assert!(take_value(&mut arguments, "--seed").is_err(), "`--` is no value");
        let mut arguments = split("a -- --last --seed 7");
        assert_eq!(take_value(&mut arguments, "--seed"), Ok(None));
        assert_eq!(arguments, split("a -- --last --seed 7"));
    }

    fn words() -> impl Strategy<Value = Vec<String>> {
        proptest::collection::vec("[a-z=-]{0,6}|--|--se|--seeds|--s=|\\PC{0,4}", 0..6)
    }

    proptest! {
        /// Wherever an option stands and however it is written, it is taken, and nothing else is.
        #[test]
        fn an_option_is_taken_anywhere(before in words(), after in words(), value in "\\PC{0,6}", joined in any::<bool>()) {
            let before: Vec<String> = before.into_iter().filter(|word| word != "--").collect();
            prop_assume!(joined || value != "--");
            let written = if joined { vec![format!("--seed={value}")] } else { vec!["--seed".to_owned(), value.clone()] };
            let mut arguments = [before.clone(), written, after.clone()].concat();
            prop_assert_eq!(take_value(&mut arguments, "--seed"), Ok(Some(value)));
            prop_assert_eq!(&arguments, &[before.clone(), after.clone()].concat());
            let mut arguments = [before.clone(), vec!["--last".to_owned()], after.clone()].concat();
            prop_assert!(take_flag(&mut arguments, "--last"));
            prop_assert_eq!(arguments, [before, after].concat());
        }

        /// A number is what it says, and any other text is named in the error.
        #[test]
        fn numbers_are_read(number in any::<u64>(), text in "\\PC{0,8}") {
            prop_assert_eq!(take_number(&mut vec![format!("--runs={number}")], "--runs", 1), Ok(number));
            let read = take_number(&mut vec![format!("--runs={text}")], "--runs", 1);
            prop_assert_eq!(read, text.parse().map_err(|_| format!("`--runs` needs a whole number, not `{text}`")));
        }
    }
}
