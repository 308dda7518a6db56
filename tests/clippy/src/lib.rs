//! What handlers must not do, one a function.

use std::future::ready;

pub async fn spawns() {
    tokio::spawn(ready(()));
}

pub async fn spawns_by_module() {
    tokio::task::spawn(ready(()));
}

pub async fn spawns_here() {
    tokio::task::spawn_local(ready(()));
}

pub async fn spawns_by_handle() {
    tokio::runtime::Handle::current().spawn(ready(()));
}

pub fn spawns_by_runtime(runtime: &tokio::runtime::Runtime) {
    runtime.spawn(ready(()));
}

pub async fn spawns_a_thread() {
    std::thread::spawn(|| {});
}
