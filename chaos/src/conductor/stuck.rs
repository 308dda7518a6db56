//! What is to be seen when a run does not come to its end: who waits for whom, which jobs are left, and who is there.

use std::fmt::Write as _;
use std::time::Duration;

use tokio::time::timeout;

use crate::history;

/// Longest wait for each part; a table that is locked is one of the reasons to be here.
const PART: Duration = Duration::from_secs(5);

/// The sessions of the server, each with those that it waits for; the jobs that have not ended; the `places` and their processes.
pub(super) async fn dump(url: &str, places: &[String]) -> String {
    let mut dump = String::new();
    for (title, text) in [("sessions", include_str!("sessions.sql")), ("jobs", include_str!("jobs.sql"))] {
        let _ = writeln!(dump, "{title}");
        match timeout(PART * 2, lines(url, text)).await {
            Ok(Ok(lines)) => write_lines(&mut dump, &lines),
            Ok(Err(error)) => write_lines(&mut dump, &[format!("cannot be read: {error:#}")]),
            Err(_) => write_lines(&mut dump, &["the database does not answer".to_owned()]),
        }
    }
    let _ = writeln!(dump, "processes");
    write_lines(&mut dump, places);
    dump
}

fn write_lines(dump: &mut String, lines: &[String]) {
    for line in lines {
        let _ = writeln!(dump, "  {line}");
    }
}

async fn lines(url: &str, text: &'static str) -> anyhow::Result<Vec<String>> {
    let mut connection = history::connect(url, PART).await?;
    Ok(sqlx::query_scalar(text).fetch_all(&mut connection).await?)
}

#[cfg(test)]
mod tests {
    use outbox_testing::Sandbox;
    use outbox_testing::fault::Session;

    use super::*;

    /// Who waits is there with whom it waits for, and what cannot be read does not keep the rest from being said.
    #[tokio::test]
    async fn who_waits_for_whom_is_said() {
        let sandbox = Sandbox::new().await;
        let (url, table) = (Sandbox::server_url().await, sandbox.table("job_live"));
        let mut holder = Session::lock_table(&url, &table, "access exclusive").await.unwrap();
        let asking = tokio::spawn({
            let (url, table) = (url.clone(), table.clone());
            async move { Session::lock_table(&url, &table, "share").await }
        });
        holder.until_somebody_waits().await;
        let pid = holder.pid();
        let dump = dump(&url, &["starts of worker-1: 3; nobody is there".to_owned()]).await;
        holder.rollback().await.unwrap();
        asking.await.unwrap().unwrap();
        let waits = dump.lines().find(|line| line.contains(&format!("lock table {table} in share mode")));
        let waits = waits.unwrap_or_else(|| panic!("{dump}"));
        assert!(waits.contains(&format!("waits for {{{pid}}}")), "{waits}");
        assert!(dump.contains("starts of worker-1: 3"), "{dump}");
        assert!(dump.contains("\njobs\n"), "{dump}");
    }
}
