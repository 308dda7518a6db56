//! Files of certificates, which the client reads anew at each connection.

use std::path::PathBuf;

use async_nats::ConnectOptions;

/// What was named. Whoever names one means TLS.
#[derive(Default)]
pub(crate) struct Certificates {
    pub(crate) authorities: Option<PathBuf>,
    /// A certificate and its key.
    pub(crate) own: Option<(PathBuf, PathBuf)>,
}

impl Certificates {
    pub(crate) fn add_to(self, mut options: ConnectOptions) -> ConnectOptions {
        if self.authorities.is_some() || self.own.is_some() {
            options = options.require_tls(true);
        }
        if let Some(file) = self.authorities {
            options = options.add_root_certificates(file);
        }
        if let Some((certificate, key)) = self.own {
            options = options.add_client_certificate(certificate, key);
        }
        options
    }
}
