//! A WebSocket as a browser has one, no larger than this needs: short messages, none of them in pieces.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use super::door::{Door, connect};

/// No more comes in one message of a terminal.
const LONGEST: u64 = 1 << 20;

#[derive(Debug, PartialEq, Eq)]
pub enum Message {
    Binary(Vec<u8>),
    Text(Vec<u8>),
    Closed,
}

#[derive(Debug)]
pub struct WebSocket<Stream: Read + Write = TcpStream> {
    stream: BufReader<Stream>,
}

impl WebSocket {
    /// Opens one at an application's address, as its own page does.
    pub fn open(door: &Door, path: &str) -> io::Result<Self> {
        let origin = format!("http://{}", door.host());
        let headers = [
            ("origin", origin.as_str()),
            ("connection", "Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA=="),
        ];
        let mut stream = BufReader::with_capacity(4 << 10, connect(door.port())?);
        stream.get_mut().write_all(&door.request(path, &headers))?;
        let head = read_head(&mut stream)?;
        if !head.starts_with("HTTP/1.1 101 ") {
            let status = head.lines().next().unwrap_or_default();
            return Err(io::Error::other(format!("{path} does not become a WebSocket: {status}")));
        }
        Ok(Self { stream })
    }
}

impl<Stream: Read + Write> WebSocket<Stream> {
    /// Sends a binary message.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(&frame(bytes)?)
    }

    /// The next message; what only keeps the connection alive is passed over.
    pub fn receive(&mut self) -> io::Result<Message> {
        loop {
            let mut head = [0; 2];
            self.stream.read_exact(&mut head)?;
            let length = match head[1] & 0x7f {
                126 => {
                    let mut length = [0; 2];
                    self.stream.read_exact(&mut length)?;
                    u16::from_be_bytes(length).into()
                }
                127 => {
                    let mut length = [0; 8];
                    self.stream.read_exact(&mut length)?;
                    u64::from_be_bytes(length)
                }
                short => short.into(),
            };
            if length > LONGEST {
                return Err(io::Error::other(format!("a message of {length} bytes is far too long")));
            }
            let mut bytes = Vec::new();
            self.stream.by_ref().take(length).read_to_end(&mut bytes)?;
            match head[0] & 0x0f {
                1 => return Ok(Message::Text(bytes)),
                2 => return Ok(Message::Binary(bytes)),
                8 => return Ok(Message::Closed),
                _ => {}
            }
        }
    }
}

/// A whole binary message of a browser. Browsers hide what they send behind a mask; one of zeros leaves it as
/// it is.
pub fn frame(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let length = u8::try_from(bytes.len()).ok().filter(|length| *length < 126);
    let length = length.ok_or_else(|| io::Error::other(format!("{} bytes are too long a message", bytes.len())))?;
    let mut frame = vec![0x82, 0x80 | length, 0, 0, 0, 0];
    frame.extend(bytes);
    Ok(frame)
}

/// The head of a request or an answer.
pub fn read_head(stream: &mut impl BufRead) -> io::Result<String> {
    let mut head = String::new();
    loop {
        let before = head.len();
        if stream.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if head[before..].trim_end().is_empty() {
            return Ok(head);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(bytes: Vec<u8>) -> io::Result<Message> {
        WebSocket { stream: BufReader::new(io::Cursor::new(bytes)) }.receive()
    }

    #[test]
    fn messages_of_every_length_are_read() {
        for length in [0_u16, 1, 125, 126, 127, 4_000, u16::MAX] {
            let body = vec![b'x'; length.into()];
            let mut short = vec![0x82];
            match u8::try_from(length).ok().filter(|length| *length < 126) {
                Some(length) => short.push(length),
                None => {
                    short.push(126);
                    short.extend(length.to_be_bytes());
                }
            }
            let mut long = vec![0x82, 127];
            long.extend(u64::from(length).to_be_bytes());
            for mut head in [short, long] {
                head.extend(&body);
                assert_eq!(receive(head).expect("it is whole"), Message::Binary(body.clone()));
            }
        }
    }

    #[test]
    fn what_keeps_alive_is_no_message_and_an_end_is_one() {
        assert_eq!(
            receive(vec![0x89, 0, 0x8a, 0, 0x81, 2, b'h', b'i']).expect("it is whole"),
            Message::Text(b"hi".to_vec())
        );
        assert_eq!(receive(vec![0x88, 0]).expect("it is whole"), Message::Closed);
        receive(vec![0x82, 127, 1, 0, 0, 0, 0, 0, 0, 0]).expect_err("it is too long");
    }

    #[test]
    fn what_is_sent_is_masked_with_zeros() {
        assert_eq!(frame(b"ab").expect("it is short"), [0x82, 0x82, 0, 0, 0, 0, b'a', b'b']);
        frame(&[0; 126]).expect_err("it is too long");
    }
}
