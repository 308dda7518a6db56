//! The policy service, asked for what is true.

use std::time::Duration;

use contracts::PolicyState;
use outbox::BoxError;
use reqwest::{Client, Response, StatusCode, Url};

/// Longest wait for an answer.
const LIMIT: Duration = Duration::from_secs(10);

/// The policy service, as billing asks it.
#[derive(Debug, Clone)]
pub struct Authority {
    http: Client,
    address: String,
    token: String,
}

impl Authority {
    /// At this address, as `http://policy.internal`.
    #[must_use]
    pub fn at(address: impl Into<String>, token: impl Into<String>) -> Self {
        Self { http: Client::new(), address: address.into(), token: token.into() }
    }

    /// One policy, if there is one of this number.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn find(&self, policy_id: &str) -> Result<Option<PolicyState>, BoxError> {
        let answer = self.get(self.url(&["policies", policy_id])?).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        Ok(Some(answer.error_for_status()?.json().await?))
    }

    /// Those behind this number, or from the first one on, in the order of their bytes.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn page(&self, after: Option<&str>, most: usize) -> Result<Vec<PolicyState>, BoxError> {
        let mut url = self.url(&["policies"])?;
        url.query_pairs_mut().append_pair("most", &most.to_string());
        if let Some(after) = after {
            url.query_pairs_mut().append_pair("after", after);
        }
        Ok(self.get(url).await?.error_for_status()?.json().await?)
    }

    fn url(&self, path: &[&str]) -> Result<Url, BoxError> {
        let mut url: Url = self.address.parse()?;
        url.path_segments_mut().map_err(|()| "the address of the policy service is none")?.extend(path);
        Ok(url)
    }

    async fn get(&self, url: Url) -> reqwest::Result<Response> {
        self.http.get(url).bearer_auth(&self.token).timeout(LIMIT).send().await
    }
}
