//! The numbers that the project claims to have proven, held against what the tests gave.

use std::path::Path;

use super::numbers::Number;
use super::{Proof, Proofs};

/// Reads `docs/proofs.txt`: one number a line, and comments from `#` to the end of a line.
pub(super) fn read(file: &Path) -> Result<Vec<Number>, String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("no list of claimed numbers in `{}`: {error}", file.display()))?;
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Number>, String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    lines
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
        .map(|(before, line)| {
            let refused = || format!("`{line}` on line {} of docs/proofs.txt is no number such as S0-23", before + 1);
            Number::parse(line).ok_or_else(refused)
        })
        .collect()
}

/// One sentence for each claimed number that is not proven.
pub(super) fn unproven(claimed: &[Number], proofs: &Proofs) -> Vec<String> {
    let reason = |number: &Number| Some(format!("{number} {}", fault(proofs.get(number))?));
    claimed.iter().filter_map(reason).collect()
}

/// A number is proven when a test of it passed and none failed.
fn fault(proofs: Option<&Vec<Proof>>) -> Option<String> {
    let Some(proofs) = proofs else {
        return Some("is named by no test".to_owned());
    };
    if let Some(failed) = proofs.iter().find(|proof| proof.result == "failed") {
        return Some(format!("failed in {}", failed.test));
    }
    let passed = proofs.iter().any(|proof| proof.result == "passed");
    (!passed).then(|| "is named by tests, of which none passed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{parse, unproven};
    use crate::proofs::{Proof, Proofs};

    fn proof(result: &str) -> Proof {
        Proof { test: "t".to_owned(), result: result.to_owned() }
    }

    /// A claim holds when one of its tests passed and none failed; every other one is named with the reason.
    #[test]
    fn claims_are_held_against_results() {
        let claimed = parse("# claims\nS0-1\nS0-2 # with a remark\n\nS0-3\nQ4\n").expect("numbers");
        let mut proofs = Proofs::new();
        proofs.insert(claimed[0].clone(), vec![proof("passed"), proof("ignored")]);
        proofs.insert(claimed[1].clone(), vec![proof("passed"), proof("failed")]);
        proofs.insert(claimed[2].clone(), vec![proof("ignored"), proof("not run")]);
        assert_eq!(
            unproven(&claimed, &proofs),
            ["S0-2 failed in t", "S0-3 is named by tests, of which none passed", "Q4 is named by no test"]
        );
    }

    /// A line that is no number is an error, not a claim that is never checked.
    #[test]
    fn a_line_must_be_a_number() {
        let refused = parse("S0-1\n\nS0-1..S0-9\n").expect_err("a range");
        assert_eq!(refused, "`S0-1..S0-9` on line 3 of docs/proofs.txt is no number such as S0-23");
    }
}
