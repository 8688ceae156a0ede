//! The way out where no link leads there: an HTTP proxy on a network's own loopback. It connects as the
//! machine does, so it looks at each address before: nothing of the machine itself is reached through it.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::time::Duration;

use atelier_domain::network::{METADATA, Range};
use atelier_pipe::{Wire, join};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The longest head of a request.
const LONGEST: usize = 16 << 10;
/// How long a head may take, and a connection to one address.
const PATIENCE: Duration = Duration::from_secs(20);

/// Serves one connection.
pub async fn carry(mut stream: TcpStream, own: Range) {
    match connect(&mut stream, own).await {
        Ok(there) => drop(join(Wire::from(stream), Wire::from(there)).await),
        Err(status) => {
            let refusal = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(refusal.as_bytes()).await;
        }
    }
}

/// Connects to where the first request wants to go.
async fn connect(stream: &mut TcpStream, own: Range) -> Result<TcpStream, &'static str> {
    let (head, early) = tokio::time::timeout(PATIENCE, head(stream)).await.unwrap_or(Err("408 Request Timeout"))?;
    let (line, headers) = head.split_once("\r\n").ok_or("400 Bad Request")?;
    let words: Vec<&str> = line.split(' ').collect();
    let [method, target, _] = words[..] else { return Err("400 Bad Request") };
    let (place, first) = if method == "CONNECT" {
        (target.to_owned(), Vec::new())
    } else {
        let rest = target.strip_prefix("http://").ok_or("400 Bad Request")?;
        let (place, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        // One request a connection: what comes next may go elsewhere.
        let kept = headers.split("\r\n").filter(|line| {
            let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
            !line.is_empty()
                && !["connection", "proxy-connection", "proxy-authorization", "keep-alive"].contains(&&*name)
        });
        let kept: String = kept.map(|line| format!("{line}\r\n")).collect();
        let path = if path.is_empty() { "/" } else { path };
        let head = format!("{method} {path} HTTP/1.1\r\n{kept}Connection: close\r\n\r\n");
        let place = if place.contains(':') { place.to_owned() } else { format!("{place}:80") };
        (place, head.into_bytes())
    };
    let addresses = tokio::net::lookup_host(&place).await.map_err(|_| "502 Unknown Host")?;
    let allowed: Vec<SocketAddr> = addresses.filter(|address| is_allowed(address.ip(), own)).collect();
    if allowed.is_empty() {
        return Err("403 Not Reachable From Here");
    }
    let connecting = TcpStream::connect(&allowed[..]);
    let mut there = match tokio::time::timeout(PATIENCE, connecting).await {
        Ok(Ok(there)) => there,
        _ => return Err("502 Not Reachable"),
    };
    let _ = there.set_nodelay(true);
    there.write_all(&[&first[..], &early].concat()).await.map_err(|_| "502 Not Reachable")?;
    if first.is_empty() {
        stream.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await.map_err(|_| "400 Bad Request")?;
    }
    Ok(there)
}

async fn head(stream: &mut TcpStream) -> Result<(String, Vec<u8>), &'static str> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let early = bytes.split_off(end + 4);
            bytes.truncate(end + 2);
            return Ok((String::from_utf8(bytes).map_err(|_| "400 Bad Request")?, early));
        }
        if bytes.len() > LONGEST {
            return Err("431 Request Header Fields Too Large");
        }
        if stream.read_buf(&mut bytes).await.map_err(|_| "400 Bad Request")? == 0 {
            return Err("400 Bad Request");
        }
    }
}

/// Whether an address is one of the world outside.
fn is_allowed(address: IpAddr, own: Range) -> bool {
    let address = address.to_canonical();
    let is_strange = address.is_unspecified() || address.is_loopback() || address.is_multicast();
    let is_special = match address {
        IpAddr::V4(v4) => v4.is_broadcast() || own.holds(v4) || METADATA.iter().any(|range| range.holds(v4)),
        IpAddr::V6(v6) => v6.is_unicast_link_local() || v6.is_unique_local(),
    };
    // What can be listened on is the machine's own.
    !is_strange && !is_special && UdpSocket::bind((address, 0)).is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_machine_or_its_cloud_is_reached() {
        let own = Range::parse("10.213.0.0/16").unwrap();
        for denied in [
            "127.0.0.1",
            "127.9.9.9",
            "0.0.0.0",
            "169.254.169.254",
            "100.100.100.200",
            "168.63.129.16",
            "10.213.4.5",
            "::1",
            "::",
            "fd00:ec2::254",
            "fe80::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
        ] {
            assert!(!is_allowed(denied.parse().unwrap(), own), "{denied}");
        }
        for allowed in ["203.0.113.7", "10.1.2.3", "2001:db8::7"] {
            assert!(is_allowed(allowed.parse().unwrap(), own), "{allowed}");
        }
    }
}
