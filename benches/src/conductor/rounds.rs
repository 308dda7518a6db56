//! In which order the sides have their turns.

/// The turns of so many sides, as (round, side): each round backwards of the one before, so that what changes slowly on the machine meets
/// all of them alike.
pub(super) fn turns(sides: usize, rounds: u32) -> impl Iterator<Item = (u32, usize)> {
    (0..rounds).flat_map(move |round| {
        (0..sides).map(move |place| (round, if round % 2 == 0 { place } else { sides - 1 - place }))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sides_alternate_so_that_neither_is_always_first() {
        let order: Vec<_> = turns(2, 3).map(|(_, side)| side).collect();
        assert_eq!(order, [0, 1, 1, 0, 0, 1]);
    }

    #[test]
    fn every_side_has_a_turn_in_every_round() {
        let turns: Vec<_> = turns(3, 2).collect();
        assert_eq!(turns, [(0, 0), (0, 1), (0, 2), (1, 2), (1, 1), (1, 0)]);
    }
}
