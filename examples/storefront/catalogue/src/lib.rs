//! Events of the shop's other modules: declared, so that anybody can subscribe, and published by nobody yet.
//!
//! An event without a subscriber is stored like any other. A module that is written later begins with `use catalogue::..`
//! and `#[subscriber(..)]`; nothing here has to change for it.

mod audit;
mod content;
mod customer;
mod marketing;
mod payment;
mod product;
mod shipment;

pub use audit::{SettingChanged, UserActionRecorded};
pub use content::{AssetProcessed, ContentPublished};
pub use customer::{CustomerRegistered, WishlistItemAdded};
pub use marketing::{CampaignSent, DiscountApplied};
pub use payment::{PaymentFailed, PaymentRefunded, PaymentSucceeded};
pub use product::{ProductCreated, ProductDeleted, ProductUpdated};
pub use shipment::{ShipmentCreated, ShipmentDelivered};
