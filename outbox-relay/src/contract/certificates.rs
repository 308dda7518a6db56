//! An authority of a test's own, and what it signs, as files.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SanType,
};
use tempfile::TempDir;
use uuid::Uuid;

/// A private authority with a certificate for a server on this machine and one for a client, in a folder that goes with it.
#[derive(Debug)]
pub struct Certificates {
    folder: TempDir,
}

impl Certificates {
    /// Makes all of them, of keys that nobody has had before.
    ///
    /// # Panics
    /// When they cannot be written.
    #[must_use]
    pub fn new() -> Self {
        let made = Self { folder: TempDir::new().expect("there is room for a folder") };
        let issuer = made.authority_itself();
        made.signed("server", ExtendedKeyUsagePurpose::ServerAuth, &issuer);
        made.signed("client", ExtendedKeyUsagePurpose::ClientAuth, &issuer);
        made
    }

    /// The authority's own certificate.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.file("authority.pem")
    }

    /// The certificate of a server at `127.0.0.1` and `localhost`, and its key.
    #[must_use]
    pub fn server(&self) -> (PathBuf, PathBuf) {
        (self.file("server.pem"), self.file("server.key"))
    }

    /// The certificate of a client, and its key.
    #[must_use]
    pub fn client(&self) -> (PathBuf, PathBuf) {
        (self.file("client.pem"), self.file("client.key"))
    }

    fn authority_itself(&self) -> Issuer<'static, KeyPair> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        // A name of its own: what says that it is signed by another authority of this name counts as forged.
        params.distinguished_name.push(DnType::CommonName, format!("an authority of a test, {}", Uuid::new_v4()));
        let key = key();
        let certificate = params.self_signed(&key).expect("a key signs itself");
        write(&self.authority(), &certificate.pem());
        Issuer::new(params, key)
    }

    fn signed(&self, name: &str, purpose: ExtendedKeyUsagePurpose, issuer: &Issuer<'_, KeyPair>) {
        let mut params = CertificateParams::new(["localhost".to_owned()]).expect("the name of a host");
        params.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        params.distinguished_name.push(DnType::CommonName, name);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![purpose];
        let key = key();
        let certificate = params.signed_by(&key, issuer).expect("an authority signs");
        write(&self.file(&format!("{name}.pem")), &certificate.pem());
        write(&self.file(&format!("{name}.key")), &key.serialize_pem());
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Default for Certificates {
    fn default() -> Self {
        Self::new()
    }
}

fn key() -> KeyPair {
    KeyPair::generate().expect("there is randomness")
}

fn write(file: &Path, text: &str) {
    std::fs::write(file, text).expect("there is room for a file");
}
