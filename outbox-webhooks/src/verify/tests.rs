use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::signature::sign;

/// The secret and the message of the test that the reference implementations of Standard Webhooks share
/// (`libraries/*/test*` in github.com/standard-webhooks/standard-webhooks).
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const MESSAGE: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const TIME: i64 = 1_614_265_330;
const BODY: &[u8] = br#"{"test": 2432232314}"#;
const SIGNED: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

fn secret() -> Secret {
    SECRET.parse().unwrap()
}

fn at(seconds: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap())
}

type Headers = BTreeMap<&'static str, String>;

fn headers(signature: &str) -> Headers {
    [(ID, MESSAGE.to_owned()), (TIMESTAMP, TIME.to_string()), (SIGNATURE, signature.to_owned())].into()
}

fn judge(verifier: &Verifier, headers: &Headers, body: &[u8], now: i64) -> Result<Verified, VerifyError> {
    verifier.verify_at(|name| headers.get(name).map(String::as_str), body, at(now))
}

fn verify(headers: &Headers) -> Result<Verified, VerifyError> {
    judge(&Verifier::new([secret()]), headers, BODY, TIME)
}

#[test]
fn the_published_vector_fits_both_ways() {
    assert_eq!(sign([&secret()], MESSAGE, TIME, BODY), SIGNED);
    assert_eq!(verify(&headers(SIGNED)), Ok(Verified { id: MESSAGE.to_owned(), timestamp: TIME }));
}

#[test]
fn one_of_several_signatures_is_enough_and_other_schemes_are_passed_over() {
    let other = sign([&Secret::generate()], MESSAGE, TIME, BODY);
    for list in [
        format!("{other} {SIGNED}"),
        format!("{SIGNED} {other}"),
        format!("v1a,Zm9v {SIGNED} v2,YmFy"),
        format!("  {SIGNED}   nonsense"),
    ] {
        assert!(verify(&headers(&list)).is_ok(), "{list}");
    }
    assert_eq!(verify(&headers(&other)), Err(VerifyError::Mismatch));
    for none in ["v1a,Zm9v", "v2,Zm9v", "nonsense", ",", "V1,Zm9v"] {
        assert_eq!(verify(&headers(none)), Err(VerifyError::NoSignature), "{none}");
    }
}

#[test]
fn any_of_the_receivers_secrets_is_enough_and_none_is_not() {
    let verifier = Verifier::new([Secret::generate(), secret()]);
    assert!(judge(&verifier, &headers(SIGNED), BODY, TIME).is_ok());
    for secrets in [vec![], vec![Secret::generate()]] {
        assert_eq!(judge(&Verifier::new(secrets), &headers(SIGNED), BODY, TIME), Err(VerifyError::Mismatch));
    }
}

#[test]
fn what_was_signed_is_id_time_and_body() {
    let mut moved = headers(SIGNED);
    moved.insert(ID, "msg_other".to_owned());
    assert_eq!(verify(&moved), Err(VerifyError::Mismatch));
    moved = headers(SIGNED);
    moved.insert(TIMESTAMP, (TIME + 1).to_string());
    assert_eq!(verify(&moved), Err(VerifyError::Mismatch));
    let verifier = Verifier::new([secret()]);
    assert_eq!(judge(&verifier, &headers(SIGNED), b"{\"test\":2432232314}", TIME), Err(VerifyError::Mismatch));
}

#[test]
fn the_time_is_checked_both_ways_to_the_second() {
    let verifier = Verifier::new([secret()]);
    let judged = |now| judge(&verifier, &headers(SIGNED), BODY, now).map(drop);
    assert_eq!(judged(TIME + 300), Ok(()));
    assert_eq!(judged(TIME - 300), Ok(()));
    assert_eq!(judged(TIME + 301), Err(VerifyError::TooOld(Duration::from_secs(301))));
    assert_eq!(judged(TIME - 301), Err(VerifyError::TooNew(Duration::from_secs(301))));
    let strict = verifier.clone().tolerance(Duration::ZERO);
    assert!(judge(&strict, &headers(SIGNED), BODY, TIME).is_ok());
    assert!(judge(&strict, &headers(SIGNED), BODY, TIME + 1).is_err());
}

#[test]
fn a_missing_header_is_named() {
    for name in [ID, TIMESTAMP, SIGNATURE] {
        for value in [None, Some(""), Some("  ")] {
            let mut less = headers(SIGNED);
            less.remove(name);
            less.extend(value.map(|value| (name, value.to_owned())));
            assert_eq!(verify(&less), Err(VerifyError::MissingHeader(name)));
        }
    }
}

#[test]
fn a_time_is_digits() {
    for odd in ["soon", "1614265330.0", "+1614265330", "-5", "99999999999999999999", "0x60379ff2"] {
        let mut late = headers(SIGNED);
        late.insert(TIMESTAMP, odd.to_owned());
        assert_eq!(verify(&late), Err(VerifyError::Timestamp), "{odd}");
    }
}

proptest! {
    /// Whatever comes in, there is an answer, and it is not yes.
    #[test]
    fn any_headers_are_judged(id in ".{0,20}", time in "[0-9]{1,12}|.{0,12}", signature in "((v1,)?[A-Za-z0-9+/=]{0,50} ?){0,4}|.{0,40}") {
        let odd: Headers = [(ID, id), (TIMESTAMP, time), (SIGNATURE, signature)].into();
        prop_assert!(judge(&Verifier::new([secret()]), &odd, BODY, TIME).is_err());
    }

    /// What is signed is believed, and with any one byte changed it is not.
    #[test]
    fn what_is_signed_is_believed(id in "[a-z0-9_]{1,20}", body in prop::collection::vec(any::<u8>(), 1..80), at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let (one, other) = (Secret::generate(), Secret::generate());
        let signed: Headers = [(ID, id.clone()), (TIMESTAMP, TIME.to_string()), (SIGNATURE, sign([&one, &other], &id, TIME, &body))].into();
        for secret in [one, other] {
            let verifier = Verifier::new([secret]);
            prop_assert!(judge(&verifier, &signed, &body, TIME).is_ok());
            let mut changed = body.clone();
            changed[at.index(body.len())] ^= 1 << bit;
            prop_assert_eq!(judge(&verifier, &signed, &changed, TIME), Err(VerifyError::Mismatch));
        }
    }
}
