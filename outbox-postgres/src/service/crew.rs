//! Runs executions that have a slot, by a few tasks instead of one each.
//!
//! Most handlers that wait for nothing are done at their first poll, and a task costs more than they do: its memory, and a turn of the
//! worker's loop for each that ends. So a member of the crew takes one execution after the other. One whose handler waits keeps its member,
//! which is its task from there on.
//!
//! A handler may block its thread at any moment, and holds up nobody but itself. The runtime has a place for the task that was woken last, which
//! no other thread looks at, so a handler begins only when nothing of the engine can stand there: each is the first that its member does
//! in a poll, and while more wait, another member stands in the runtime's queue, from where any thread takes it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;

use super::slot::{News, Report, Slot};
use crate::step::run::Execution;
use crate::step_back::step_back;

pub(crate) struct Crew {
    report: Report,
    finished: mpsc::UnboundedSender<News>,
    tasks: TaskTracker,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<(Slot, Execution)>,
    /// What the loop has not been told of yet: there is something here only while more waits than that.
    ended: Vec<News>,
    /// How many members stand in the runtime's queue.
    ready: usize,
}

/// What a member does that comes from the runtime's queue, and does not take an execution.
enum Instead {
    /// It stands there again, behind a new member.
    CallAnother,
    /// It stands there again, so that the loop has its turn first.
    StepBack,
    /// Nothing waits.
    End,
}

impl Queue {
    fn tell(&mut self, finished: &mpsc::UnboundedSender<News>) {
        for news in self.ended.drain(..) {
            // The loop is gone only when nobody counts slots any more.
            let _ = finished.send(news);
        }
    }
}

impl Crew {
    pub(crate) fn new(report: Report, finished: mpsc::UnboundedSender<News>, tasks: TaskTracker) -> Arc<Self> {
        Arc::new(Self { report, finished, tasks, queue: Mutex::default() })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Each change is whole before the next line, so a panic leaves nothing half done.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn run(self: &Arc<Self>, started: Vec<(Slot, Execution)>) {
        if !started.is_empty() {
            self.queue().waiting.extend(started);
            self.see_to_it();
        }
    }

    /// Those who are at work may never come back: somebody who is not has to know of what waits.
    fn see_to_it(self: &Arc<Self>) {
        let queue = self.queue();
        let unseen = !queue.waiting.is_empty() && queue.ready == 0;
        drop(queue);
        if unseen {
            self.call();
        }
    }

    fn call(self: &Arc<Self>) {
        // Boxed, because spawning moves a future several times, and this one is large.
        self.tasks.spawn(Box::pin(Arc::clone(self).work()));
    }

    async fn work(self: Arc<Self>) {
        let _relief = Relief(&self);
        let mut next = self.next(&mut self.queue());
        loop {
            match next {
                Ok((slot, execution)) => {
                    let ended = self.report.of(slot, execution).await;
                    if !self.ended(ended) {
                        return;
                    }
                }
                Err(Instead::CallAnother) => self.call(),
                Err(Instead::StepBack) => {}
                Err(Instead::End) => return,
            }
            step_back().await;
            let mut queue = self.queue();
            queue.ready -= 1;
            next = self.next(&mut queue);
        }
    }

    fn next(&self, queue: &mut Queue) -> Result<(Slot, Execution), Instead> {
        // The loop hears of what has ended before the last of these runs, which may take its time.
        if !queue.ended.is_empty() && queue.waiting.len() <= queue.ended.len() + 1 {
            queue.tell(&self.finished);
            queue.ready += 1;
            return Err(Instead::StepBack);
        }
        // Not left to the new member alone, which stands where only this thread takes it.
        if queue.ready == 0 && queue.waiting.len() > 1 {
            queue.ready += 1;
            return Err(Instead::CallAnother);
        }
        queue.waiting.pop_front().ok_or(Instead::End)
    }

    /// An execution has ended. Answers whether there is more to do. The loop is told of many at once: it has nothing to give to those who have
    /// enough to do.
    fn ended(&self, news: News) -> bool {
        let mut queue = self.queue();
        queue.ended.push(news);
        if queue.waiting.len() <= queue.ended.len() {
            queue.tell(&self.finished);
        }
        let more = !queue.waiting.is_empty();
        queue.ready += usize::from(more);
        more
    }
}

/// What waits does not depend on a member that panics.
struct Relief<'c>(&'c Arc<Crew>);

impl Drop for Relief<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.see_to_it();
        }
    }
}
