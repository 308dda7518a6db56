#![cfg_attr(feature = "sender", doc = include_str!("../README.md"))]
#![cfg_attr(
    not(feature = "sender"),
    doc = "Webhook secrets, signatures and the verifier. The feature `sender` sends them."
)]
//!
//! # The files
//!
//! | | |
//! |---|---|
//! | `secret`, `signature`, `verify` | what sender and receiver share, without a database or a network |
//! | `fan_out` | an event becomes deliveries and their jobs, in one transaction |
//! | `deliver` | one delivery's job: begin, call, record |
//! | `target`, `address`, `connect`, `call` | which URLs, which addresses, the connection, the request |
//! | `turns` | a slow endpoint has two calls at once, so that the others have their turn |
//! | `record`, `judge` | what an attempt came to; whether the endpoint gets any more |
//! | `log`, `redeliver`, `rotate`, `endpoint`, `prune` | what an application and its people do |

mod secret;
mod signature;
mod verify;

#[cfg(feature = "sender")]
mod address;
#[cfg(feature = "sender")]
mod builder;
#[cfg(feature = "sender")]
mod call;
#[cfg(feature = "sender")]
mod connect;
#[cfg(feature = "sender")]
mod deliver;
#[cfg(feature = "sender")]
mod endpoint;
#[cfg(feature = "sender")]
mod event;
#[cfg(feature = "sender")]
mod fan_out;
#[cfg(feature = "sender")]
mod for_people;
#[cfg(feature = "sender")]
mod id;
#[cfg(feature = "sender")]
mod judge;
#[cfg(feature = "sender")]
mod log;
#[cfg(feature = "sender")]
mod migrate;
#[cfg(feature = "sender")]
mod prune;
#[cfg(feature = "sender")]
mod record;
#[cfg(feature = "sender")]
mod redeliver;
#[cfg(feature = "sender")]
mod retry_after;
#[cfg(feature = "sender")]
mod rotate;
#[cfg(feature = "sender")]
mod route;
#[cfg(feature = "sender")]
mod schema;
#[cfg(feature = "sender")]
mod target;
#[cfg(feature = "sender")]
mod turns;
#[cfg(feature = "sender")]
mod webhooks;

pub use secret::{Secret, SecretError};
pub use signature::{ID, SIGNATURE, TIMESTAMP, sign};
pub use verify::{TOLERANCE, Verified, Verifier, VerifyError};

#[cfg(feature = "sender")]
pub use self::{
    builder::{SettingError, WebhooksBuilder},
    connect::{CertificateError, Resolve},
    endpoint::{Created, Endpoint, EndpointChange, EndpointError, NewEndpoint},
    event::EndpointDisabled,
    fan_out::VIA_WEBHOOK,
    id::{DeliveryId, EndpointId, ParseIdError},
    log::{Delivery, DeliveryAttempt, DeliveryStatus},
    migrate::MigrateError,
    redeliver::RedeliverError,
    route::Outgoing,
    target::UrlError,
    webhooks::Webhooks,
};
