//! One question to the REST API and its answer.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use atelier_pipe::{Wire, http};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::address::Address;

/// An answer longer than a wait of the API and a little more is none.
const PATIENCE: Duration = Duration::from_secs(330);

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub token: &'a str,
    /// The job that asks, if one does.
    pub job: Option<&'a str>,
    pub body: Option<&'a str>,
}

/// What comes back.
pub struct Answer {
    pub status: u16,
    pub body: Box<dyn Read>,
}

/// Asks. An error says in words what could not be done.
pub fn ask(address: &Address, question: Question<'_>) -> Result<Answer, String> {
    let cannot = |error: io::Error| error.to_string();
    let Question { method, path, token, job, body } = question;
    let bearer = format!("Bearer {token}");
    let mut headers = vec![("authorization", bearer.as_str())];
    headers.extend(job.map(|job| ("atelier-job", job)));
    let body = body.unwrap_or_default();
    if !body.is_empty() {
        headers.push(("content-type", "application/json"));
    }
    let (path, host) = (format!("{}{path}", address.path), format!("{}:{}", address.host, address.port));
    let question = http::question(method, &path, &host, &headers, body.to_owned()).map_err(cannot)?;
    let waiting = http::Waiting::new(PATIENCE).map_err(cannot)?;
    let wire = waiting.wait(connect(address)).map_err(cannot)?;
    let answer =
        waiting.wait(http::ask(wire, question)).map_err(|error| format!("the answer was not understood: {error}"))?;
    Ok(Answer { status: answer.status, body: Box::new(waiting.body(answer)) })
}

async fn connect(address: &Address) -> io::Result<Wire> {
    let stream = TcpStream::connect((address.name(), address.port)).await?;
    let _ = stream.set_nodelay(true);
    if !address.is_secure {
        return Ok(stream.into());
    }
    let name = ServerName::try_from(address.name().to_owned()).map_err(io::Error::other)?;
    Ok(Wire::other(TlsConnector::from(trust()?).connect(name, stream).await?))
}

/// Whom this machine trusts; `SSL_CERT_FILE` names others.
fn trust() -> io::Result<Arc<ClientConfig>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}
