//! One client: sells, amends and cancels, and asks again until it is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use contracts::{Money, PolicyState, Status};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, timeout};

use super::Shared;

/// How long an answer is waited for before the same is asked again.
const LIMIT: Duration = Duration::from_secs(3);
/// How long a service may be away.
const PATIENCE: Duration = Duration::from_mins(1);
/// May do everything, and who may not cancel.
const ANN: &str = "token-of-ann";
const BOB: &str = "token-of-bob";

/// A client of the policy service.
#[derive(Debug)]
pub(crate) struct Client {
    number: u32,
    http: reqwest::Client,
    address: String,
    shared: Arc<Shared>,
    /// Its own policies that run.
    active: Vec<PolicyState>,
    sold: u32,
}

impl Client {
    pub(crate) fn new(number: u32, address: &str, shared: Arc<Shared>) -> Self {
        let (http, address) = (reqwest::Client::new(), address.to_owned());
        Self { number, http, address, shared, active: Vec::new(), sold: 0 }
    }

    /// Gives a command at each tick until it is stopped.
    pub(super) async fn work(mut self, pause: Duration) -> anyhow::Result<()> {
        let mut ticks = tokio::time::interval(pause);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while !self.shared.stops() {
            ticks.tick().await;
            match rand::random_range(0..20) {
                0 => self.ask_what_makes_no_sense().await?,
                1 => self.ask_what_is_not_allowed().await?,
                2..=3 => self.cancel().await?,
                4..=9 => self.amend().await?,
                _ => self.sell().await?,
            }
        }
        Ok(())
    }

    async fn sell(&mut self) -> anyhow::Result<()> {
        self.sold += 1;
        let policy_id = format!("P-{}-{:05}", self.number, self.sold);
        let premium = self.premium();
        let command = json!({ "policy_id": policy_id, "holder": format!("holder of {policy_id}"), "premium": premium });
        let (status, answer) = self.ask(Method::POST, "policies", ANN, &command).await?;
        if status != StatusCode::OK {
            bail!("{policy_id} was not sold: {status} {answer}");
        }
        self.active.push(serde_json::from_value(answer).context("a policy")?);
        count(&self.shared.commands);
        self.shared.sold(policy_id, premium);
        Ok(())
    }

    async fn amend(&mut self) -> anyhow::Result<()> {
        let Some(at) = self.any() else { return self.sell().await };
        let PolicyState { policy_id, revision, .. } = self.active[at].clone();
        let command = json!({ "revision": revision, "premium": self.premium() });
        let path = format!("policies/{policy_id}/premium");
        let (status, answer) = self.ask(Method::PUT, &path, ANN, &command).await?;
        self.changed(at, status, answer).await
    }

    async fn cancel(&mut self) -> anyhow::Result<()> {
        let Some(at) = self.any() else { return self.sell().await };
        let PolicyState { policy_id, revision, .. } = self.active[at].clone();
        let path = format!("policies/{policy_id}/cancel");
        let (status, answer) = self.ask(Method::POST, &path, ANN, &json!({ "revision": revision })).await?;
        self.changed(at, status, answer).await
    }

    /// A conflict means here that the first answer was lost, and the change was not: only this client changes its policies.
    async fn changed(&mut self, at: usize, status: StatusCode, answer: Value) -> anyhow::Result<()> {
        let policy_id = self.active[at].policy_id.clone();
        let now: PolicyState = match status {
            StatusCode::OK => serde_json::from_value(answer)?,
            StatusCode::CONFLICT => {
                let (_, found) = self.ask(Method::GET, &format!("policies/{policy_id}"), ANN, &Value::Null).await?;
                serde_json::from_value(found)?
            }
            _ => bail!("{policy_id} was not changed: {status} {answer}"),
        };
        count(&self.shared.commands);
        match now.status {
            Status::Active => self.active[at] = now,
            Status::Cancelled => drop(self.active.swap_remove(at)),
        }
        Ok(())
    }

    async fn ask_what_makes_no_sense(&mut self) -> anyhow::Result<()> {
        let policy_id = format!("REFUSED-{}", self.number);
        let command = json!({ "policy_id": policy_id, "holder": "nobody", "premium": Money::euros(-1) });
        let (status, _) = self.ask(Method::POST, "policies", ANN, &command).await?;
        self.refused(status, StatusCode::UNPROCESSABLE_ENTITY)
    }

    async fn ask_what_is_not_allowed(&mut self) -> anyhow::Result<()> {
        let Some(at) = self.any() else { return Ok(()) };
        let PolicyState { policy_id, revision, .. } = self.active[at].clone();
        let path = format!("policies/{policy_id}/cancel");
        let (status, _) = self.ask(Method::POST, &path, BOB, &json!({ "revision": revision })).await?;
        self.refused(status, StatusCode::FORBIDDEN)
    }

    fn refused(&self, status: StatusCode, expected: StatusCode) -> anyhow::Result<()> {
        if status != expected {
            bail!("a command that had to be refused was answered with {status}");
        }
        count(&self.shared.refused);
        Ok(())
    }

    /// Asks, and asks the same again while there is no answer: a service may be away, and what it did before it went is not known.
    async fn ask(&self, method: Method, path: &str, token: &str, body: &Value) -> anyhow::Result<(StatusCode, Value)> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let request = self.http.request(method.clone(), format!("{}/{path}", self.address)).bearer_auth(token);
            let answering = async {
                let response = request.json(body).send().await?;
                let status = response.status();
                Ok::<_, reqwest::Error>((status, response.json().await?))
            };
            match timeout(LIMIT, answering).await {
                Ok(Ok((status, value))) if !status.is_server_error() => return Ok((status, value)),
                _ if Instant::now() > deadline => bail!("{path} was not answered within {PATIENCE:?}"),
                _ => count(&self.shared.unanswered),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn any(&self) -> Option<usize> {
        (!self.active.is_empty()).then(|| rand::random_range(0..self.active.len()))
    }

    fn premium(&self) -> Money {
        let cents = rand::random_range(1_000..100_000);
        if self.shared.francs.load(Ordering::Relaxed) && rand::random() {
            Money { cents, currency: "CHF".to_owned() }
        } else {
            Money::euros(cents)
        }
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
