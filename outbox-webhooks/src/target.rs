//! The URL of an endpoint: which ones a delivery may go to, by what they say themselves.

use std::net::IpAddr;

use hyper::http::uri::PathAndQuery;
use url::{Host, Url};

use crate::address::is_public;

/// Longest URL, in bytes.
const LONGEST: usize = 2_048;

/// What the application allows beyond public hosts by https.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rules {
    pub(crate) http: bool,
    pub(crate) private_networks: bool,
}

impl Rules {
    pub(crate) fn permit(self, address: IpAddr) -> bool {
        self.private_networks || is_public(address)
    }
}

/// Why nothing is delivered to a URL. The URL is not repeated: its path may be as secret as a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// It is none, or none with a host.
    #[error("the endpoint's address is no absolute URL: {0}")]
    Malformed(&'static str),
    /// It is longer than 2,048 bytes.
    #[error("the endpoint's URL has {0} bytes, more than 2,048")]
    TooLong(usize),
    /// Neither https, nor http where that is allowed.
    #[error(
        "the endpoint's URL begins with `{0}:`, and webhooks go to `https:` (`.allow_http(true)` allows `http:` too)"
    )]
    Scheme(String),
    /// A name or a password stands in it: it would be in every list and log.
    #[error("the endpoint's URL holds a name or a password: leave it out, the signature says who sends")]
    Credentials,
    /// A port of some other protocol.
    #[error("the endpoint's URL names the port {0}: webhooks go to 443 (80 for http), and to those from 1024 on")]
    Port(u16),
    /// The host is an address that is not public.
    #[error("the endpoint's URL leads to {0}, which is no public address")]
    Private(IpAddr),
}

/// A URL that a delivery may go to. Where its host is a name, what the name leads to is checked when it is connected to.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    url: Url,
}

impl Target {
    /// `url` reads hosts as browsers do: `0x7f.1`, `2130706433` and `017700000001` are 127.0.0.1 behind it.
    pub(crate) fn parse(text: &str, rules: Rules) -> Result<Self, UrlError> {
        if text.len() > LONGEST {
            return Err(UrlError::TooLong(text.len()));
        }
        let url = Url::parse(text).map_err(|error| UrlError::Malformed(reason(error)))?;
        match url.scheme() {
            "https" => {}
            "http" if rules.http => {}
            other => return Err(UrlError::Scheme(other.chars().take(20).collect())),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlError::Credentials);
        }
        let target = Self { url };
        // Browsers and HTTP do not agree to the last character of what a path may hold.
        target.path().parse::<PathAndQuery>().map_err(|_| UrlError::Malformed("its path cannot be sent"))?;
        let allowed = if target.is_https() { 443 } else { 80 };
        if target.port() != allowed && target.port() < 1024 {
            return Err(UrlError::Port(target.port()));
        }
        match target.literal() {
            Some(address) if !rules.permit(address) => Err(UrlError::Private(address)),
            _ => Ok(target),
        }
    }

    pub(crate) fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    pub(crate) fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or_default()
    }

    /// The address, where the host is one.
    pub(crate) fn literal(&self) -> Option<IpAddr> {
        match self.url.host() {
            Some(Host::Ipv4(address)) => Some(address.into()),
            Some(Host::Ipv6(address)) => Some(address.into()),
            Some(Host::Domain(_)) | None => None,
        }
    }

    /// The host as it is said to a person and a resolver, without brackets.
    pub(crate) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
    }

    /// What the `Host` header says.
    pub(crate) fn authority(&self) -> &str {
        self.url.authority()
    }

    /// What the request line says.
    pub(crate) fn path(&self) -> &str {
        &self.url[url::Position::BeforePath..url::Position::AfterQuery]
    }

    /// The URL as it is stored: normalised.
    pub(crate) fn as_str(&self) -> &str {
        self.url.as_str()
    }
}

fn reason(error: url::ParseError) -> &'static str {
    match error {
        url::ParseError::RelativeUrlWithoutBase => "it has no scheme",
        url::ParseError::EmptyHost => "it has no host",
        url::ParseError::InvalidPort => "its port is no number up to 65535",
        url::ParseError::IdnaError => "its host is no name",
        url::ParseError::InvalidIpv4Address | url::ParseError::InvalidIpv6Address => "its host is no address",
        _ => "it cannot be read",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STRICT: Rules = Rules { http: false, private_networks: false };
    const LOOSE: Rules = Rules { http: true, private_networks: true };

    fn refused(text: &str) -> UrlError {
        Target::parse(text, STRICT).expect_err(text)
    }

    #[test]
    fn public_https_urls_are_taken() {
        for text in [
            "https://example.com",
            "https://example.com:8443/hook?x=1",
            "https://8.8.8.8/",
            "https://[2606:4700::1111]:1024/a",
        ] {
            assert!(Target::parse(text, STRICT).is_ok(), "{text}");
        }
        let target = Target::parse("https://EXAMPLE.com:443/a b?c=d#e", STRICT).unwrap();
        assert_eq!(
            (target.host(), target.authority(), target.path(), target.port()),
            ("example.com", "example.com", "/a%20b?c=d", 443)
        );
        let target = Target::parse("https://[2606:4700::1111]:4433/", STRICT).unwrap();
        assert_eq!(
            (target.host(), target.authority(), target.path()),
            ("2606:4700::1111", "[2606:4700::1111]:4433", "/")
        );
    }

    #[test]
    fn an_address_of_ours_is_refused_however_it_is_written() {
        for text in [
            "https://127.0.0.1/",
            "https://127.1/",
            "https://0/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://017700000001/",
            "https://0x7f.0.0.1/",
            "https://0177.0.0.1/",
            "https://127.0.0.1./",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:7f00:1]/",
            "https://[0:0:0:0:0:0:0:1]/",
            "https://169.254.169.254/latest/meta-data/",
            "https://10.1/",
            "https://[fd00:ec2::254]/",
            "https://[64:ff9b::a00:1]/",
            "https://１２７.０.０.１/",
            "https://127。0。0。1/",
            "https:127.0.0.1",
            "https:\\\\127.0.0.1\\",
            "\thttps://127.0.0.1/",
            "https://%31%32%37.0.0.1/",
        ] {
            assert!(matches!(refused(text), UrlError::Private(_)), "{text}: {:?}", refused(text));
        }
    }

    #[test]
    fn other_schemes_ports_and_credentials_are_refused() {
        assert_eq!(refused("http://example.com/"), UrlError::Scheme("http".into()));
        assert!(Target::parse("http://example.com/", LOOSE).is_ok());
        for text in
            ["ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "javascript:alert(1)", "data:,x"]
        {
            assert!(matches!(refused(text), UrlError::Scheme(_)), "{text}");
            assert!(matches!(Target::parse(text, LOOSE), Err(UrlError::Scheme(_))), "{text}");
        }
        for text in [
            "https://ann@example.com/",
            "https://ann:pw@example.com/",
            "https://:pw@example.com/",
            "https://example.com@evil.example/",
        ] {
            assert_eq!(refused(text), UrlError::Credentials, "{text}");
        }
        for port in [1, 22, 25, 80, 442, 444, 1023] {
            assert_eq!(refused(&format!("https://example.com:{port}/")), UrlError::Port(port));
        }
        assert_eq!(Target::parse("http://example.com:443/", LOOSE).unwrap_err(), UrlError::Port(443));
        for text in [
            "",
            "example.com",
            "//example.com/",
            "https://",
            "https://example.com:99999/",
            "https://exa mple.com/",
            "https://[::1",
        ] {
            assert!(matches!(refused(text), UrlError::Malformed(_)), "{text}");
        }
        assert_eq!(refused(&format!("https://example.com/{}", "a".repeat(2_048))), UrlError::TooLong(2_068));
    }

    #[test]
    fn no_refusal_repeats_the_url() {
        for text in ["http://hooks.example/T0K3N", "https://ann:T0K3N@example.com/", "https://127.0.0.1/T0K3N", "T0K3N"]
        {
            assert!(!refused(text).to_string().contains("T0K3N"), "{text}");
        }
    }

    proptest! {
        /// Any text is taken or refused; what is taken is https, without credentials, to no address of ours, and is taken again as it
        /// was normalised, and its parts cannot break a header.
        #[test]
        fn any_text_is_judged(text in "(https?:)?(//)?([a-z0-9]{0,3}(:[a-z]{0,2})?@)?[a-z0-9.x\\[\\]:]{0,16}(:[0-9]{0,6})?[/?#a-z\r\n \"'<>`{|}^\\[\\]\\\\]{0,6}|https://a\\.b/.{0,60}|.{0,60}") {
            if let Ok(target) = Target::parse(&text, STRICT) {
                prop_assert!(target.as_str().starts_with("https://"));
                prop_assert!(!target.authority().contains('@'));
                prop_assert!(target.literal().is_none_or(is_public));
                prop_assert!(target.port() == 443 || target.port() >= 1024);
                for part in [target.authority(), target.path(), target.host()] {
                    prop_assert!(part.bytes().all(|byte| (0x21..0x7f).contains(&byte)), "{:?}", part);
                }
                prop_assert!(target.path().starts_with('/'));
                let request = hyper::Request::post(target.path()).header("host", target.authority()).body(());
                prop_assert!(request.is_ok(), "{:?}", request);
                let again = Target::parse(target.as_str(), STRICT).expect("what is stored is taken again");
                prop_assert_eq!(again.as_str(), target.as_str());
            }
        }

        /// Every IPv4 address is the same in all its spellings.
        #[test]
        fn spellings_change_nothing(bits in any::<u32>()) {
            let address = std::net::Ipv4Addr::from_bits(bits);
            for host in [address.to_string(), bits.to_string(), format!("{bits:#x}"), format!("0{bits:o}")] {
                let judged = Target::parse(&format!("https://{host}/"), STRICT);
                prop_assert_eq!(judged.is_ok(), is_public(address.into()), "{}", host);
            }
        }
    }
}
