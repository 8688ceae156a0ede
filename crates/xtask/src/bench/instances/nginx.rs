//! nginx with settings and files of its own: as the application behind everything, and as the reverse proxy
//! to compare with.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use atelier_testing::free_port;

use super::super::running::Running;
use crate::failure::{Failure, Result};
use crate::process;

/// Where Debian has it, which is not on everybody's PATH.
const DEBIAN: &str = "/usr/sbin/nginx";

/// What both have: a worker for each core, as packaged, and connections that are kept. nginx would end them
/// after 1,000 requests.
const BOTH: &str = "
worker_processes auto;
pid nginx.pid;
error_log stderr;
@USER@
events { worker_connections 4096; }
http {
    access_log off;
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 75;
    keepalive_requests 1000000000;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
@HTTP@
}
";

const APPLICATION: &str = "
    server {
        listen 127.0.0.1:@PORT@;
        listen unix:@SOCKET@;
        root @FILES@;
    }
";

const FILES: &str = "
    server {
        listen 127.0.0.1:@PORT@;
        root @FILES@;
        sendfile off;
    }
";

const PROXY: &str = "
    upstream application {
        server unix:@SOCKET@;
        keepalive 32;
        keepalive_requests 1000000000;
    }
    server {
        listen 127.0.0.1:@PORT@;
        location / {
            proxy_pass http://application;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
        }
    }
";

/// The program that is to be measured with, if there is one.
pub fn find(wanted: Option<&Path>) -> Option<PathBuf> {
    let packaged = || Some(PathBuf::from(DEBIAN)).filter(|path| path.is_file());
    wanted.map(Path::to_owned).or_else(|| process::find("nginx")).or_else(packaged)
}

/// What it calls itself, such as `nginx/1.22.1`.
pub fn version(program: &Path) -> Result<String> {
    // It says so on its standard error, and well.
    let said = Command::new(program).arg("-v").output();
    let said = said.map_err(|error| Failure::new(format!("{} can't be started: {error}", program.display())))?;
    let said = String::from_utf8_lossy(&said.stderr);
    Ok(said.split_whitespace().find(|word| word.starts_with("nginx/")).unwrap_or("nginx").to_owned())
}

/// A static server of `files`, on a port for those who ask directly and on the socket of an application.
pub fn application(program: &Path, folder: &Path, files: &Path, socket: &Path) -> Result<Running> {
    let http = APPLICATION.replace("@FILES@", &files.display().to_string());
    start(program, folder, &http, socket, super::proxy::SMALL)
}

/// A static server of `files` that copies what it sends, as whoever looks at bytes must; `ready` is one of
/// them.
pub fn files(program: &Path, folder: &Path, files: &Path, ready: &str) -> Result<Running> {
    let http = FILES.replace("@FILES@", &files.display().to_string());
    start(program, folder, &http, Path::new(""), &format!("/{ready}"))
}

/// A reverse proxy before what listens on that socket.
pub fn proxy(program: &Path, folder: &Path, socket: &Path) -> Result<Running> {
    start(program, folder, PROXY, socket, super::proxy::SMALL)
}

fn start(program: &Path, folder: &Path, http: &str, socket: &Path, ready: &str) -> Result<Running> {
    fs::create_dir_all(folder).map_err(Failure::file("making", folder))?;
    let is_root = fs::metadata(folder).map_err(Failure::file("looking at", folder))?.uid() == 0;
    let port = free_port();
    let http = http.replace("@PORT@", &port.to_string()).replace("@SOCKET@", &socket.display().to_string());
    // Started by root, its workers would become somebody who cannot read the files of this run.
    let settings = BOTH.replace("@USER@", if is_root { "user root root;" } else { "" }).replace("@HTTP@", &http);
    let file = folder.join("nginx.conf");
    fs::write(&file, settings).map_err(Failure::file("writing", &file))?;
    let mut command = Command::new(program);
    command.arg("-p").arg(folder).arg("-c").arg(&file).args(["-e", "stderr", "-g", "daemon off;"]);
    Ok(Running::start(&mut command, port, ready, &folder.join("log"))?.0)
}
