//! What happens to the fleet, an act a file. Commands are given all the time.

mod drift;
mod kills;
mod outage;
mod quarantine;
mod replay;
mod trace;
mod versions;

pub(crate) use self::{
    drift::drift,
    kills::kills,
    outage::outage,
    quarantine::quarantine,
    replay::replay,
    trace::{STEPS, trace},
    versions::versions,
};
