//! Files of certificates, read anew at each connection, so that renewed ones count without a restart.

use std::io;
use std::path::{Path, PathBuf};

use lapin::tcp::{OwnedIdentity, OwnedTLSConfig};

/// What is to be read, beside what was given as it is.
#[derive(Clone, Default)]
pub(crate) struct Certificates {
    pub(crate) given: OwnedTLSConfig,
    pub(crate) authorities: Option<PathBuf>,
    /// A certificate and its key.
    pub(crate) own: Option<(PathBuf, PathBuf)>,
}

impl Certificates {
    /// Whether there are any, which only a URL of TLS uses.
    pub(crate) fn are_set(&self) -> bool {
        self.authorities.is_some() || self.own.is_some() || self.given != OwnedTLSConfig::default()
    }

    /// Reads them.
    pub(crate) async fn read(&self) -> io::Result<OwnedTLSConfig> {
        let certificates = self.clone();
        tokio::task::spawn_blocking(move || certificates.read_now()).await.map_err(io::Error::other)?
    }

    fn read_now(self) -> io::Result<OwnedTLSConfig> {
        let mut config = self.given;
        if let Some(file) = &self.authorities {
            let text = String::from_utf8(read_pem(file)?).map_err(|_| no_pem(file))?;
            config.cert_chain = Some(config.cert_chain.unwrap_or_default() + &text);
        }
        if let Some((certificate, key)) = &self.own {
            config.identity = Some(OwnedIdentity::PKCS8 { pem: read_pem(certificate)?, key: read_pem(key)? });
        }
        Ok(config)
    }
}

fn read_pem(file: &Path) -> io::Result<Vec<u8>> {
    let bytes = std::fs::read(file)
        .map_err(|error| io::Error::new(error.kind(), format!("`{}` cannot be read: {error}", file.display())))?;
    // Without it the client would go on as if there were no file.
    if bytes.windows(11).any(|window| window == b"-----BEGIN ") { Ok(bytes) } else { Err(no_pem(file)) }
}

fn no_pem(file: &Path) -> io::Error {
    let text = format!("`{}` holds nothing in PEM: convert it, or name another file", file.display());
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is missing, or holds something else, is named, and what it holds is not shown.
    #[tokio::test]
    async fn files_that_hold_no_certificates_are_named() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = folder.path().join("authorities.pem");
        let certificates = Certificates { authorities: Some(file.clone()), ..Certificates::default() };
        for content in [None, Some("hunter2")] {
            if let Some(content) = content {
                std::fs::write(&file, content).unwrap();
            }
            let error = certificates.read().await.unwrap_err().to_string();
            assert!(error.contains("authorities.pem") && !error.contains("hunter2"), "{error}");
        }
    }
}
