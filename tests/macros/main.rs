//! What the attributes register, and that correct code is accepted as it stands. The mistakes are in `tests/ui`.

mod batches;
mod calling;
mod catalogue;
mod changes;
mod events;
mod jobs;
mod payloads;
mod schedules;
mod settings;
mod subjects;
mod support;
