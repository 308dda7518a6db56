//! supervisor: the loops of a service, those that it cannot be without and those that are begun again.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use outbox::{Supervisor, SupervisorError};
use tokio::sync::mpsc;

/// A loop that does nothing until it is told to end.
async fn until_told(stop: outbox::Cancellation) -> Result<(), io::Error> {
    stop.cancelled().await;
    Ok(())
}

fn on_fire() -> std::future::PollFn<impl FnMut(&mut Context<'_>) -> Poll<Result<(), io::Error>>> {
    std::future::poll_fn(|_| panic!("on fire"))
}

/// S2-39: the failure of an essential loop, whichever way it ends, stops the others and is told to who runs the service.
#[tokio::test]
async fn an_essential_loop_that_ends_stops_the_service() {
    let failed = Supervisor::new()
        .essential("consumer", |_| async { Err(io::Error::other("no queue")) })
        .background("outbox", until_told)
        .run(pending())
        .await;
    assert_eq!(failed.unwrap_err().to_string(), "`consumer`, which this service is nothing without, failed: no queue");
    let panicked = Supervisor::new().essential("consumer", |_| on_fire()).run(pending()).await;
    let text = "`consumer`, which this service is nothing without, failed: it panicked: on fire";
    assert_eq!(panicked.unwrap_err().to_string(), text);
    let ended = Supervisor::new().essential("consumer", |_| async { Ok::<_, io::Error>(()) }).run(pending()).await;
    assert!(matches!(ended.unwrap_err(), SupervisorError::Ended("consumer")));
}

/// S2-40, S2-16: a background loop is begun again, behind a pause that grows, however it ended; the service lives.
#[tokio::test]
async fn a_background_loop_is_begun_again() {
    let (begun, mut beginnings) = mpsc::unbounded_channel();
    let mut number = 0;
    let flaky = move |stop: outbox::Cancellation| {
        number += 1;
        begun.send(tokio::time::Instant::now()).unwrap();
        async move {
            match number {
                1 => Err(io::Error::other("no connection")),
                2 => panic!("on fire"),
                3 => Ok(()),
                _ => until_told(stop).await,
            }
        }
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let service = Supervisor::new().background("flaky", flaky).essential("consumer", until_told);
    let running = tokio::spawn(service.run(async move { drop(stopped.await) }));
    let mut times = Vec::new();
    for _ in 0..4 {
        times.push(beginnings.recv().await.unwrap());
    }
    // 100, 200 and 400 ms, each less by half at most.
    let pauses: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(
        pauses.iter().zip([50, 100, 200]).all(|(pause, least)| *pause >= Duration::from_millis(least)),
        "{pauses:?}"
    );
    drop(stop);
    running.await.unwrap().unwrap();
    assert!(beginnings.recv().await.is_none(), "it was not begun again behind the end");
}

/// S2-19, S2-53: what is done at each tick never overlaps itself, survives its own failure, and stops with its loop.
#[tokio::test]
async fn ticks_do_not_overlap_and_stop_with_their_loop() {
    let (at_once, turns) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (reached, mut has_reached) = mpsc::unbounded_channel();
    let (busy, count) = (Arc::clone(&at_once), Arc::clone(&turns));
    let turn = move || {
        let (busy, count, reached) = (Arc::clone(&busy), Arc::clone(&count), reached.clone());
        async move {
            assert_eq!(busy.fetch_add(1, Ordering::SeqCst), 0, "two turns at once");
            let number = count.fetch_add(1, Ordering::SeqCst);
            // Longer than the interval.
            tokio::time::sleep(Duration::from_millis(5)).await;
            busy.fetch_sub(1, Ordering::SeqCst);
            reached.send(number).unwrap();
            if number % 2 == 0 { Err(io::Error::other("every other turn fails")) } else { Ok(()) }
        }
    };
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let service = Supervisor::new().every("report", Duration::from_millis(1), turn);
    let running = tokio::spawn(service.run(async move { drop(stopped.await) }));
    while has_reached.recv().await.unwrap() < 5 {}
    drop(stop);
    running.await.unwrap().unwrap();
    // A turn under way was waited for; its sender, and with it the loop, is gone.
    while has_reached.recv().await.is_some() {}
    assert_eq!(at_once.load(Ordering::SeqCst), 0);
}

/// S2-52: a shutdown has a budget; what does not end within it is dropped, and named.
#[tokio::test]
async fn loops_that_do_not_end_are_named() {
    let late = Supervisor::new()
        .background("deaf", |_| pending::<Result<(), io::Error>>())
        .background("gentle", until_told)
        .shutdown_budget(Duration::from_millis(50))
        .run(std::future::ready(()))
        .await
        .unwrap_err();
    assert_eq!(late.to_string(), "not ended within 50ms of the word to stop, and dropped: deaf");
}
