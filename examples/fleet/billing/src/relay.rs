//! The service's own facts, to the broker.

use platform::Broker;

outbox_relay::relay!(
    "billing.relay",
    event = "invoice.*",
    transport = Broker,
    max_attempts = 3,
    backoff = exponential("500ms", max = "1s")
);
