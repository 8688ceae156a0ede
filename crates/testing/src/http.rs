//! One question to a server on this machine and its whole answer.

use std::io;

use atelier_pipe::http::{self, Waiting};
use tokio::net::TcpStream;

use crate::PATIENCE;

/// Far beyond anything that is asked for here; a body that grows past it is a fault, not a page.
const MOST_BYTES: usize = 32 << 20;

/// What a server answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Each header, its name in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// Asks a port of 127.0.0.1, over a connection of its own.
pub fn ask(method: &str, path: &str, port: u16, headers: &[(&str, &str)], body: &str) -> io::Result<Answer> {
    let question = http::question(method, path, &format!("127.0.0.1:{port}"), headers, body.to_owned())?;
    Waiting::new(PATIENCE)?.wait(async {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let answer = http::ask(stream.into(), question).await?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let headers = answer.headers.iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect();
        Ok(Answer { status: answer.status, headers, body: answer.whole(MOST_BYTES).await? })
    })
}

impl Answer {
    /// What the cookies that this answer sets hold, as the `cookie` header of the next request.
    pub fn cookies(&self) -> String {
        let set = self.headers.iter().filter(|(name, _)| name == "set-cookie");
        let pairs: Vec<&str> = set.filter_map(|(_, value)| value.split(';').next()).collect();
        pairs.join("; ")
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Encodes the fields of a form.
pub fn form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_go_back_without_their_attributes() {
        let set = |value: &str| ("set-cookie".to_owned(), value.to_owned());
        let answer = Answer { status: 200, headers: vec![set("a=1; Path=/"), set("b=2")], body: Vec::new() };
        assert_eq!(answer.cookies(), "a=1; b=2");
    }

    #[test]
    fn forms_are_encoded() {
        assert_eq!(form(&[("email", "a@b.c"), ("name", "Ä b")]), "email=a%40b.c&name=%C3%84+b");
    }
}
