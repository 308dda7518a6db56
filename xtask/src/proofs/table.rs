//! The table of numbers, tests and results.

use super::Proofs;

/// Prints one line a number and test.
pub(super) fn print(proofs: &Proofs) {
    let rows = || proofs.iter().flat_map(|(number, proofs)| proofs.iter().map(move |proof| (number, proof)));
    let width = rows().map(|(_, proof)| proof.test.len()).max().unwrap_or_default();
    println!("\n{:<11} | {:<width$} | result", "requirement", "test");
    for (number, proof) in rows() {
        println!("{number:<11} | {:<width$} | {}", proof.test, proof.result);
    }
}
