//! How a PgBouncer is to be: its file of settings, and the URL that leads through it.

use std::path::{Path, PathBuf};

use url::Url;

use crate::server::account::Account;

/// Writes `pgbouncer.ini` and the file of users that it names, for a server at `behind`.
pub(super) fn write(folder: &Path, account: Account, behind: &Url, port: u16) -> std::io::Result<PathBuf> {
    let (file, users) = (folder.join("pgbouncer.ini"), folder.join("users.txt"));
    std::fs::write(&users, user_line(behind))?;
    std::fs::write(&file, text(behind, port, &users))?;
    account.own(&users)?;
    account.own(&file)?;
    Ok(file)
}

/// `extra_float_digits` is what sqlx sends and PgBouncer cannot keep track of: it has to be told to pass over it.
fn text(behind: &Url, port: u16, users: &Path) -> String {
    let host = behind.host_str().filter(|host| !host.is_empty()).unwrap_or("127.0.0.1");
    let host = host.trim_matches(['[', ']']);
    let server_port = behind.port().unwrap_or(5432);
    let user = user(behind);
    format!(
        "[databases]\n\
         * = host={host} port={server_port} auth_user={user}\n\
         [pgbouncer]\n\
         listen_addr = 127.0.0.1\n\
         listen_port = {port}\n\
         unix_socket_dir =\n\
         auth_type = trust\n\
         auth_file = {users}\n\
         auth_query = select usename, passwd from pg_shadow where usename = $1\n\
         pool_mode = transaction\n\
         max_prepared_statements = 200\n\
         ignore_startup_parameters = extra_float_digits\n\
         max_client_conn = 900\n\
         default_pool_size = 90\n\
         server_idle_timeout = 30\n\
         log_connections = 0\n\
         log_disconnections = 0\n",
        users = users.display()
    )
}

fn user_line(behind: &Url) -> String {
    let quoted = |text: String| format!("\"{}\"", text.replace('"', "\"\""));
    format!("{} {}\n", quoted(user(behind)), quoted(decoded(behind.password().unwrap_or_default())))
}

fn user(behind: &Url) -> String {
    match behind.username() {
        "" => "postgres".to_owned(),
        name => decoded(name),
    }
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// The same URL, to another address.
pub(super) fn by_way_of(behind: &Url, port: u16) -> String {
    let mut url = behind.clone();
    // Refused only for a URL without a host part, which a database's has.
    let _ = url.set_host(Some("127.0.0.1"));
    let _ = url.set_port(Some(port));
    url.into()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use url::Url;

    use super::{by_way_of, text, user_line};

    /// The settings lead to the server of the URL, with its user and password decoded.
    #[test]
    fn the_settings_lead_to_the_server() {
        let behind = Url::parse("postgres://app%40x:p%22w@db.example.org:6000/shop?sslmode=disable").expect("a URL");
        let text = text(&behind, 7000, Path::new("/tmp/users.txt"));
        assert!(text.contains("* = host=db.example.org port=6000 auth_user=app@x\n"), "{text}");
        assert!(text.contains("pool_mode = transaction\n"), "{text}");
        assert_eq!(user_line(&behind), "\"app@x\" \"p\"\"w\"\n");
        assert_eq!(by_way_of(&behind, 7000), "postgres://app%40x:p%22w@127.0.0.1:7000/shop?sslmode=disable");
    }
}
