//! What errors of TLS mean for whoever sets up a transport.

/// Words in errors of rustls and alerts of servers, and what is to be done about them.
const REMEDIES: [(&[&str], &str); 4] = [
    (
        &["UnknownIssuer", "BadSignature"],
        "no authority that is trusted here has signed the broker's certificate: name the file of the one that did by `.authorities(..)`",
    ),
    (
        &["NotValidForName"],
        "the broker's certificate is for other names than that in the URL: use one of its names, or have it signed for this one too",
    ),
    (&["Expired", "NotValidYet"], "the broker's certificate is out of its time: renew it, or look at the clock here"),
    (
        &["CertificateRequired", "BadCertificate", "CertificateUnknown", "UnknownCA", "HandshakeFailure"],
        "the broker asks for a certificate that it knows: name its file and that of its key by `.certificate(..)`",
    ),
];

/// The error of a transport's connection, and behind it what is to be done where it is about certificates; any other one as it is. For
/// [`Link::disconnected`](crate::Link::disconnected) and [`Link::heard`](crate::Link::heard).
#[must_use]
pub fn what_to_do_about_certificates(error: String) -> String {
    let meant = |(words, _): &&(&[&str], &str)| words.iter().any(|word| error.contains(word));
    match REMEDIES.iter().find(meant) {
        Some((_, remedy)) => format!("{error}; {remedy}"),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_certificates_say_what_to_do_and_others_stay_as_they_are() {
        let told = what_to_do_about_certificates("IO error: invalid peer certificate: UnknownIssuer".to_owned());
        assert!(told.starts_with("IO error: ") && told.contains("`.authorities(..)`"), "{told}");
        let told = what_to_do_about_certificates("received fatal alert: CertificateRequired".to_owned());
        assert!(told.contains("`.certificate(..)`"), "{told}");
        assert_eq!(what_to_do_about_certificates("connection refused".to_owned()), "connection refused");
    }
}
