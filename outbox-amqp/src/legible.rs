//! Frames that the client cannot read, made legible.
//!
//! AMQP's short strings (names of headers, `message-id`, the routing key) are bytes, and RabbitMQ stores whatever bytes they are. The client
//! ends a connection on the first one that is no UTF-8, and would end the next one on the same message, which the broker delivers again: one
//! message would keep a queue from being consumed for ever. Here such bytes become question marks. No length changes, so frames stay what
//! they were, and long strings, which the values of headers are, stay as they are.

/// Of a method.
const METHOD: u8 = 1;
/// Of a message's properties.
const HEADER: u8 = 2;
/// Type, channel, size.
const PREAMBLE: usize = 7;
/// `basic`, and `basic.deliver` in it.
const DELIVER: [u8; 4] = [0, 60, 0, 60];

/// What has come of frames whose end has not.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    waiting: Vec<u8>,
}

impl Frames {
    /// Takes some bytes of the stream, and answers those that can go on: whole frames.
    pub(crate) fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.waiting.extend_from_slice(bytes);
        let mut whole = 0;
        while let Some(frame) = self.waiting.get_mut(whole..).and_then(first) {
            whole += frame.len();
            make_legible(frame);
        }
        self.waiting.drain(..whole).collect()
    }
}

/// The first frame, when all of it is there.
fn first(bytes: &mut [u8]) -> Option<&mut [u8]> {
    // What a broker of another version says, which is no frame.
    if bytes.starts_with(b"AMQP") {
        return bytes.get_mut(..8);
    }
    let size = bytes.get(3..PREAMBLE)?.try_into().ok().map(u32::from_be_bytes)?;
    // With the octet that ends it.
    let whole = PREAMBLE.checked_add(usize::try_from(size).ok()?)?.checked_add(1)?;
    bytes.get_mut(..whole)
}

fn make_legible(frame: &mut [u8]) {
    let kind = frame[0];
    let Some((_end, rest)) = frame.split_last_mut() else { return };
    let Some(payload) = rest.get_mut(PREAMBLE..) else { return };
    let mut place = Place { bytes: payload, at: 0 };
    // `None` is a frame that ends too early: the client says so.
    let _ = match kind {
        METHOD => delivery(&mut place),
        HEADER => properties(&mut place),
        _ => None,
    };
}

/// `basic.deliver`: consumer, delivery tag, whether it comes again, exchange, routing key.
fn delivery(place: &mut Place<'_>) -> Option<()> {
    if place.take(4)? != DELIVER {
        return None;
    }
    place.short_string()?;
    place.take(8 + 1)?;
    place.short_string()?;
    place.short_string()
}

/// Class, weight, size of the body, which properties are there, and those.
fn properties(place: &mut Place<'_>) -> Option<()> {
    place.take(2 + 2 + 8)?;
    let there = u16::from_be_bytes(place.take(2)?.try_into().ok()?);
    // From the highest bit down: content type and encoding; headers; delivery mode and priority; correlation, reply, expiration and message
    // id; moment; type, user, application, cluster.
    for bit in (2..16).rev().filter(|bit| there & (1 << bit) != 0) {
        match bit {
            13 => place.table()?,
            12 | 11 => drop(place.take(1)?),
            6 => drop(place.take(8)?),
            _ => place.short_string()?,
        }
    }
    Some(())
}

/// How far a frame has been looked through.
struct Place<'f> {
    bytes: &'f mut [u8],
    at: usize,
}

impl Place<'_> {
    fn take(&mut self, count: usize) -> Option<&mut [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get_mut(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn length(&mut self) -> Option<usize> {
        let length = self.take(4)?.try_into().ok().map(u32::from_be_bytes)?;
        usize::try_from(length).ok()
    }

    fn short_string(&mut self) -> Option<()> {
        let length = self.take(1)?[0];
        let text = self.take(length.into())?;
        if std::str::from_utf8(text).is_err() {
            text.iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
        }
        Some(())
    }

    fn table(&mut self) -> Option<()> {
        let end = self.length()?.checked_add(self.at)?;
        while self.at < end {
            self.short_string()?;
            self.value()?;
        }
        Some(())
    }

    /// As RabbitMQ reads the types, which is not in everything as the specification says.
    fn value(&mut self) -> Option<()> {
        let kind = self.take(1)?[0];
        match kind {
            b'F' => self.table(),
            b'A' => {
                let end = self.length()?.checked_add(self.at)?;
                while self.at < end {
                    self.value()?;
                }
                Some(())
            }
            b'S' | b'x' => {
                let length = self.length()?;
                self.take(length).map(drop)
            }
            b'V' => Some(()),
            b't' | b'b' | b'B' => self.take(1).map(drop),
            b's' | b'U' | b'u' => self.take(2).map(drop),
            b'I' | b'i' | b'f' => self.take(4).map(drop),
            b'D' => self.take(5).map(drop),
            b'L' | b'l' | b'd' | b'T' => self.take(8).map(drop),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let size = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&[kind, 0, 1][..], &size, payload, &[0xce]].concat()
    }

    /// Header frame with one header of this name and value, and this message id.
    fn header(name: &[u8], value: &[u8], id: &[u8]) -> Vec<u8> {
        let short = |text: &[u8]| [&[u8::try_from(text.len()).unwrap()][..], text].concat();
        let long = |bytes: &[u8]| [&u32::try_from(bytes.len()).unwrap().to_be_bytes()[..], bytes].concat();
        let entry = [short(name), vec![b'S'], long(value), short(b"n"), vec![b'l'], vec![0xff; 8]].concat();
        let nested = [short(b"t"), vec![b'F'], long(&[short(name), vec![b't', 1]].concat())].concat();
        let there = ((1_u16 << 13) | (1 << 12) | (1 << 7)).to_be_bytes();
        let fixed = [&[0, 60, 0, 0][..], &[0; 8], &there].concat();
        frame(HEADER, &[fixed, long(&[entry, nested].concat()), vec![2], short(id)].concat())
    }

    fn passed(bytes: &[u8]) -> Vec<u8> {
        Frames::default().pass(bytes)
    }

    /// Names at any depth, and ids; values of headers stay, whatever they hold.
    #[test]
    fn what_is_no_text_becomes_text_of_the_same_length() {
        let illegible = header(b"a\xffb", b"\xff\xfe", b"id-\xc3");
        assert_eq!(passed(&illegible), header(b"a?b", b"\xff\xfe", b"id-?"));
    }

    #[test]
    fn what_is_text_stays_as_it_is() {
        for legible in
            [header("n\u{e9}".as_bytes(), b"v", "\u{1f980}".as_bytes()), frame(3, b"\xff\xff"), frame(8, b"")]
        {
            assert_eq!(passed(&legible), legible);
        }
    }

    #[test]
    fn routing_keys_of_deliveries_are_made_legible() {
        let deliver = |key: &[u8]| {
            let tag = [0; 9];
            frame(
                METHOD,
                &[&DELIVER[..], &[1, b'c'], &tag, &[1, b'x'], &[u8::try_from(key.len()).unwrap()], key].concat(),
            )
        };
        assert_eq!(passed(&deliver(b"k\xf0.v1")), deliver(b"k?.v1"));
        // Another method's bytes are its own.
        let other = frame(METHOD, &[0, 60, 0, 21, 1, 0xff]);
        assert_eq!(passed(&other), other);
    }

    /// However a stream is cut into pieces, nothing is lost and nothing moves.
    #[test]
    fn pieces_of_frames_come_out_whole() {
        let stream = [header(b"\xff", b"1", b"2"), frame(3, &[7; 300]), header(b"k", b"v", b"\xff")].concat();
        let expected = [header(b"?", b"1", b"2"), frame(3, &[7; 300]), header(b"k", b"v", b"?")].concat();
        for size in [1, 2, 3, 7, 8, 50, 1_000] {
            let mut frames = Frames::default();
            let out: Vec<u8> = stream.chunks(size).flat_map(|piece| frames.pass(piece)).collect();
            assert_eq!(out, expected, "in pieces of {size}");
        }
    }

    /// A frame that lies about what it holds ends where it ends.
    #[test]
    fn frames_that_lie_do_no_harm() {
        let lies = frame(HEADER, &[&[0, 60, 0, 0][..], &[0; 8], &[0xff, 0xfc], &[200, 1]].concat());
        assert_eq!(passed(&lies), lies);
        assert_eq!(passed(b"AMQP\x00\x00\x09\x01"), b"AMQP\x00\x00\x09\x01");
    }
}
