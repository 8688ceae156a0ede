//! Dialling a server: through a socket of this machine, plain, or with TLS.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use atelier_pipe::Wire;
use rustix::fs::{Mode, OFlags, open};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::config::AgentConfig;
use crate::instance::patiently;

/// The longest path of a socket is 108 bytes; what is longer is reached through its folder.
const LONG_PATH: usize = 100;

/// Whom this agent trusts, as of the last time that it called: a stream must not read all certificates again.
static TRUST: Mutex<Option<Arc<ClientConfig>>> = Mutex::new(None);

/// Connects to the server.
pub async fn dial(config: &AgentConfig) -> Result<WebSocketStream<Wire>, String> {
    *TRUST.lock().unwrap_or_else(PoisonError::into_inner) = None;
    let stream = connect(config).await?;
    let address = if config.server.starts_with("unix:") { "ws://localhost/agent" } else { &config.server };
    let limits = WebSocketConfig::default()
        .read_buffer_size(16 << 10)
        .write_buffer_size(64 << 10)
        .max_message_size(Some(atelier_protocol::MAX_FRAME))
        .max_frame_size(Some(atelier_protocol::MAX_FRAME));
    let (socket, _) =
        client_async_with_config(address, stream, Some(limits)).await.map_err(|error| error.to_string())?;
    Ok(socket)
}

/// A connection to the server, of which nothing is said yet.
pub async fn connect(config: &AgentConfig) -> Result<Wire, String> {
    match config.server.strip_prefix("unix:") {
        Some(path) => unix(Path::new(path)).await.map(Wire::from),
        None => tcp(config).await,
    }
}

/// A connection to a socket of this machine, however long its path is.
pub async fn unix(path: &Path) -> Result<UnixStream, String> {
    let cannot = |error: std::io::Error| format!("{}: {error}", path.display());
    if path.as_os_str().len() <= LONG_PATH {
        return patiently(path).await.map_err(cannot);
    }
    let (folder, name) =
        path.parent().zip(path.file_name()).ok_or_else(|| format!("{} is no socket", path.display()))?;
    let folder = open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| cannot(error.into()))?;
    let number = std::os::fd::AsRawFd::as_raw_fd(&folder);
    patiently(&Path::new(&format!("/proc/self/fd/{number}")).join(name)).await.map_err(cannot)
}

async fn tcp(config: &AgentConfig) -> Result<Wire, String> {
    let request = config.server.as_str().into_client_request().map_err(|error| error.to_string())?;
    let address = request.uri();
    let is_secure = address.scheme_str() == Some("wss");
    let host = address.host().ok_or("the server's address names no host")?.trim_matches(['[', ']']).to_owned();
    let port = address.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
    let stream = TcpStream::connect((host.as_str(), port)).await.map_err(|error| error.to_string())?;
    drop(stream.set_nodelay(true));
    if !is_secure {
        return Ok(stream.into());
    }
    let name = ServerName::try_from(host).map_err(|error| error.to_string())?;
    let known = TRUST.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let trust = known.map_or_else(|| tls(config.ca.as_deref()).map(Arc::new), Ok)?;
    *TRUST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&trust));
    let stream = TlsConnector::from(trust).connect(name, stream).await.map_err(|error| error.to_string())?;
    Ok(Wire::other(stream))
}

fn tls(ca: Option<&Path>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = ca {
        let cannot = |why: String| format!("{}: {why}", file.display());
        for certificate in CertificateDer::pem_file_iter(file).map_err(|error| cannot(error.to_string()))? {
            let certificate = certificate.map_err(|error| cannot(error.to_string()))?;
            roots.add(certificate).map_err(|error| cannot(error.to_string()))?;
        }
    } else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
