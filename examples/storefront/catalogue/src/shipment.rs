//! What can happen to a shipment.

use outbox::prelude::*;

/// A parcel was handed to the carrier.
#[event("shipment.created")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShipmentCreated {
    /// Which parcel.
    #[subject]
    pub shipment_id: String,
    /// For which order.
    pub order_id: String,
    /// Who carries it.
    pub carrier: String,
}

/// A parcel has arrived.
#[event("shipment.delivered")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShipmentDelivered {
    /// Which parcel.
    #[subject]
    pub shipment_id: String,
    /// For which order.
    pub order_id: String,
}
