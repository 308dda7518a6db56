//! Which addresses are the public internet's, and which are ours to keep strangers from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Blocks of IPv4 that are no public host's, from the IANA registry of special-purpose addresses
/// (<https://www.iana.org/assignments/iana-ipv4-special-registry>), with multicast, what is reserved, and Azure's host service.
const KEPT_V4: [(Ipv4Addr, u32); 17] = [
    (Ipv4Addr::UNSPECIFIED, 8),            // this network; 0.0.0.0 reaches this host
    (Ipv4Addr::new(10, 0, 0, 0), 8),       // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),    // carriers' NAT; Alibaba's metadata
    (Ipv4Addr::new(127, 0, 0, 0), 8),      // loopback
    (Ipv4Addr::new(168, 63, 129, 16), 32), // Azure's host service, behind a public number
    (Ipv4Addr::new(169, 254, 0, 0), 16),   // link-local; the clouds' metadata
    (Ipv4Addr::new(172, 16, 0, 0), 12),    // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),     // protocol assignments; Oracle's metadata
    (Ipv4Addr::new(192, 0, 2, 0), 24),     // documentation
    (Ipv4Addr::new(192, 31, 196, 0), 24),  // AS112
    (Ipv4Addr::new(192, 52, 193, 0), 24),  // AMT
    (Ipv4Addr::new(192, 88, 99, 0), 24),   // 6to4 relays
    (Ipv4Addr::new(192, 168, 0, 0), 16),   // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),    // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24),  // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),   // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 3),      // multicast, reserved, broadcast
];

/// The only block of IPv6 that public hosts are in. Outside of it lie loopback, unspecified, link-local, unique-local, multicast,
/// IPv4-mapped and -compatible ones, and both NAT64 prefixes.
const PUBLIC_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Blocks within it that are no public host's, from the IANA registry
/// (<https://www.iana.org/assignments/iana-ipv6-special-registry>).
const KEPT_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // protocol assignments: Teredo carries any IPv4 address
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4 carries any IPv4 address
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// Whether this is the address of a host on the public internet, as far as an address can say it.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !KEPT_V4.iter().any(|block| within_v4(address, *block)),
        IpAddr::V6(address) => within_v6(address, PUBLIC_V6) && !KEPT_V6.iter().any(|block| within_v6(address, *block)),
    }
}

fn within_v4(address: Ipv4Addr, (block, bits): (Ipv4Addr, u32)) -> bool {
    (address.to_bits() ^ block.to_bits()) >> (32 - bits) == 0
}

fn within_v6(address: Ipv6Addr, (block, bits): (Ipv6Addr, u32)) -> bool {
    (address.to_bits() ^ block.to_bits()) >> (128 - bits) == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn judged(text: &str) -> bool {
        is_public(text.parse().unwrap())
    }

    #[test]
    fn public_hosts_are_public() {
        for text in [
            "8.8.8.8",
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "168.63.129.15",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "2a00:1450::1",
            "2001:200::1",
        ] {
            assert!(judged(text), "{text}");
        }
    }

    #[test]
    fn our_own_network_is_not_public() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.0",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "168.63.129.16",
            "169.254.0.0",
            "169.254.169.254",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.0",
            "192.168.255.255",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
        ] {
            assert!(!judged(text), "{text}");
        }
    }

    #[test]
    fn in_the_other_family_it_is_not_either() {
        for text in [
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:8.8.8.8",
            "64:ff9b::10.0.0.1",
            "64:ff9b::808:808",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "ffff::1",
        ] {
            assert!(!judged(text), "{text}");
        }
    }

    proptest! {
        /// The standard library's own words for parts of it agree, over all addresses.
        #[test]
        fn what_the_library_calls_ours_is_ours(bits in any::<u32>(), high in any::<u128>()) {
            let v4 = Ipv4Addr::from_bits(bits);
            let ours = v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_broadcast() || v4.is_documentation()
                || v4.is_unspecified() || v4.is_multicast();
            prop_assert!(!(ours && is_public(v4.into())), "{}", v4);
            let v6 = Ipv6Addr::from_bits(high);
            let ours = v6.is_unique_local() || v6.is_unicast_link_local() || v6.is_multicast() || v6.is_loopback();
            prop_assert!(!(ours && is_public(v6.into())), "{}", v6);
            // Whatever IPv4 address is written into one, it is not reached by another name.
            for carrying in [v4.to_ipv6_mapped(), v4.to_ipv6_compatible()] {
                prop_assert!(!is_public(carrying.into()), "{}", carrying);
            }
        }
    }
}
