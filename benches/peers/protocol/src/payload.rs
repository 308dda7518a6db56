//! What a job carries.

use serde::{Deserialize, Serialize};

/// About 200 bytes of JSON, of which the number tells the jobs apart.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Payload {
    pub number: u64,
    pub order: String,
    pub customer: String,
    pub address: String,
    pub cents: u64,
}

impl Payload {
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self {
            number,
            order: format!("order-{number:038}"),
            customer: format!("customer-{:035}", number % 1_000),
            address: "12 Long Meadow Lane, Upper Littleton, LT4 7QX".to_owned(),
            cents: 1_999,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Payload;

    #[test]
    fn a_payload_has_about_two_hundred_bytes() {
        let size = serde_json::to_vec(&Payload::new(54_321)).expect("plain data is JSON").len();
        assert!((190..=210).contains(&size), "{size}");
    }
}
