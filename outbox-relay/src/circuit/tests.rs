use proptest::prelude::*;

use super::*;

const LIMITS: Limits =
    Limits { window: 8, first_pause: Duration::from_secs(1), longest_pause: Duration::from_secs(30) };

fn go(circuit: &mut Circuit, now: Instant) -> Ticket {
    match circuit.admit(now) {
        Admission::Go(ticket) => ticket,
        other => panic!("{other:?}: {circuit:?}"),
    }
}

/// As many as may be under way at once.
fn fill(circuit: &mut Circuit, now: Instant) -> Vec<Ticket> {
    std::iter::from_fn(|| match circuit.admit(now) {
        Admission::Go(ticket) => Some(ticket),
        _ => None,
    })
    .collect()
}

fn warm(now: Instant) -> Circuit {
    let mut circuit = Circuit::new(LIMITS);
    while circuit.window() < LIMITS.window {
        let ticket = go(&mut circuit, now);
        circuit.answered(&ticket);
    }
    circuit
}

/// A process that begins, and one behind an outage, sends one message, then two, four, and never more than its window.
#[test]
fn the_window_ramps_up_and_is_bounded() {
    let (now, mut circuit) = (Instant::now(), Circuit::new(LIMITS));
    for expected in [1, 2, 4, 8, 8] {
        let tickets = fill(&mut circuit, now);
        assert_eq!(tickets.len(), expected);
        assert_eq!(circuit.admit(now), Admission::Wait);
        for ticket in &tickets {
            circuit.answered(ticket);
        }
    }
}

/// Each pause is twice the one before, up to the longest, and up to a fifth longer by chance.
#[test]
fn pauses_grow_are_bounded_and_differ() {
    for (random, factor) in [(0.0, 1.0), (0.999_999, 1.2)] {
        let (mut now, mut circuit) = (Instant::now(), Circuit::new(LIMITS));
        for seconds in [1, 2, 4, 8, 16, 30, 30, 30] {
            let ticket = go(&mut circuit, now);
            circuit.unreachable(&ticket, now, random);
            let pause = circuit.pauses_for(now).unwrap().as_secs_f64();
            assert!((pause - f64::from(seconds) * factor).abs() < 0.001, "{pause} instead of {seconds}");
            now += Duration::from_secs_f64(pause);
        }
    }
}

/// The end of a pause lets one message out, and all others wait for what becomes of it.
#[test]
fn one_message_probes() {
    let (now, mut circuit) = (Instant::now(), Circuit::new(LIMITS));
    let ticket = go(&mut circuit, now);
    circuit.unreachable(&ticket, now, 0.0);
    let until = now + LIMITS.first_pause;
    assert_eq!(circuit.admit(now), Admission::Closed(until));
    let probe = go(&mut circuit, until);
    assert_eq!(circuit.state(), CircuitState::Probed);
    assert_eq!(circuit.admit(until), Admission::Wait);
    circuit.answered(&probe);
    assert_eq!((circuit.state(), fill(&mut circuit, until).len()), (CircuitState::Closed, 2));
}

/// A probe that nobody waits for any more does not keep the others waiting for ever.
#[test]
fn a_forgotten_probe_is_followed_by_another() {
    let (now, mut circuit) = (Instant::now(), Circuit::new(LIMITS));
    let ticket = go(&mut circuit, now);
    circuit.unreachable(&ticket, now, 0.0);
    let until = now + LIMITS.first_pause;
    let probe = go(&mut circuit, until);
    circuit.forgotten(&probe, until);
    go(&mut circuit, until);
}

/// A whole window that fails is one failure, and what was sent before says nothing about the time behind.
#[test]
fn a_window_that_fails_is_one_failure() {
    let now = Instant::now();
    let mut circuit = warm(now);
    let tickets = fill(&mut circuit, now);
    for ticket in &tickets[..7] {
        circuit.unreachable(ticket, now, 0.0);
    }
    assert_eq!((circuit.failures(), circuit.pauses_for(now)), (1, Some(LIMITS.first_pause)));
    // The last one's answer was on its way; it closes nothing and is not counted among those under way.
    circuit.answered(&tickets[7]);
    assert_eq!((circuit.state(), circuit.under_way()), (CircuitState::Open, 0));
}

/// A destination that comes and goes is asked ever more seldom, until a full window was answered.
#[test]
fn a_destination_that_comes_and_goes_is_asked_more_seldom() {
    let (mut now, mut circuit) = (Instant::now(), Circuit::new(LIMITS));
    for expected in [1, 2, 4] {
        let ticket = go(&mut circuit, now);
        circuit.answered(&ticket);
        let ticket = go(&mut circuit, now);
        circuit.unreachable(&ticket, now, 0.0);
        assert_eq!(circuit.pauses_for(now), Some(Duration::from_secs(expected)));
        now += Duration::from_secs(expected);
    }
    while circuit.window() < LIMITS.window {
        let ticket = go(&mut circuit, now);
        circuit.answered(&ticket);
    }
    assert_eq!(circuit.failures(), 0);
}

/// One message that is never answered, beside others that are, is not the destination's fault.
#[test]
fn silence_beside_answers_is_of_one_message() {
    let now = Instant::now();
    let mut circuit = warm(now);
    let (poison, other) = (go(&mut circuit, now), go(&mut circuit, now));
    circuit.answered(&other);
    assert_eq!(circuit.silent(&poison, now, 0.0), Silence::OfOne);
    assert_eq!(circuit.state(), CircuitState::Closed);
    let alone = go(&mut circuit, now);
    assert_eq!(circuit.silent(&alone, now, 0.0), Silence::OfAll);
    assert_eq!(circuit.state(), CircuitState::Open);
}

proptest! {
    /// Whatever happens in whatever order: never more under way than the window, never a pause longer than the longest and a fifth, and
    /// always a way on.
    #[test]
    fn there_is_always_a_way_on(steps in prop::collection::vec((0..5_u8, any::<prop::sample::Index>(), 0.0..1.0_f64), 0..200)) {
        let (mut now, mut circuit, mut tickets) = (Instant::now(), Circuit::new(LIMITS), Vec::new());
        for (step, which, random) in steps {
            if step == 0 || tickets.is_empty() {
                match circuit.admit(now) {
                    Admission::Go(ticket) => tickets.push(ticket),
                    Admission::Closed(until) => now = until,
                    Admission::Wait => prop_assert!(circuit.under_way() > 0, "nobody would wake it: {:?}", circuit),
                }
            } else {
                let ticket = tickets.swap_remove(which.index(tickets.len()));
                match step {
                    1 => circuit.answered(&ticket),
                    2 => circuit.unreachable(&ticket, now, random),
                    3 => drop(circuit.silent(&ticket, now, random)),
                    _ => circuit.forgotten(&ticket, now),
                }
            }
            prop_assert!(circuit.under_way() <= LIMITS.window);
            prop_assert!(circuit.pauses_for(now).unwrap_or_default() <= LIMITS.longest_pause.mul_f64(1.2));
        }
    }
}
