//! Configuration: one table of settings, each of which can come from a flag, the environment or a TOML file.
//!
//! A flag beats the environment, the environment beats the file, the file beats the default. `atelier config`
//! prints what came out and from where. A wrong value is refused in one line that names the key, the value
//! and the source.

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use atelier_domain::network::{Egress, Range};
use atelier_domain::session;
use atelier_domain::time::Span;
use atelier_domain::uids::Uids;
use atelier_engine::drivers::local::{Isolation, NetworkSettings, Settings as LocalSettings};
use atelier_engine::environments::Settings as EnvironmentSettings;
use atelier_studio::studio::Settings;
use secrecy::SecretString;

use crate::server::apps::PortRange;

#[derive(Debug)]
pub struct Setting {
    /// The key in the file; the flag is the same with hyphens, the variable the same in capitals after
    /// `ATELIER_`.
    pub key: &'static str,
    /// The name of the value in the help.
    pub value_name: &'static str,
    /// What it is if nobody says; empty means unset.
    pub default: &'static str,
    /// How it is shown by `atelier config`.
    pub secrecy: Secrecy,
    pub help: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrecy {
    Open,
    /// Not at all.
    Secret,
    /// As a URL without its password.
    UrlWithPassword,
}

/// Names below it lead back to the machine itself, so applications have addresses of their own without any
/// set-up.
const APPS_DOMAIN: &str = "localhost";

const fn setting(key: &'static str, value_name: &'static str) -> Setting {
    Setting { key, value_name, default: "", secrecy: Secrecy::Open, help: "" }
}

/// Every setting, in the order in which they are shown.
pub const SETTINGS: &[Setting] = &[
    setting("config", "FILE")
        .help("TOML file with the same keys [default: atelier.toml in the data directory, if there is one]"),
    setting("listen", "ADDR:PORT").or("127.0.0.1:3000").help("Address and port to listen on"),
    setting("data", "DIR")
        .or("atelier-data")
        .help("Directory for the embedded database and everything else that is kept"),
    setting("database_url", "URL")
        .shown(Secrecy::UrlWithPassword)
        .help("postgres://… instead of the embedded SQLite database"),
    setting("public_url", "URL")
        .help("The address people type, if it is not the listening one, such as https://atelier.example.org"),
    setting("apps_domain", "DOMAIN").or(APPS_DOMAIN).help(
        "Applications live at names below this domain; needs a wildcard in DNS and, with TLS, in the certificate",
    ),
    setting("apps_ports", "FIRST-LAST").help(
        "Ports for applications where they cannot have names of their own, such as 3100-3199; isolates them less",
    ),
    setting("ssh_listen", "ADDR:PORT")
        .help("Address and port at which instances can be entered by SSH, such as 0.0.0.0:2222; nobody can without it"),
    setting("tls_cert", "FILE").help("Certificate chain (PEM); needs --tls-key too"),
    setting("tls_key", "FILE").help("Private key (PEM); needs --tls-cert too"),
    setting("admin_email", "EMAIL")
        .help("Makes this Owner if nobody has an account yet; needs --admin-password-file too"),
    setting("admin_password_file", "FILE").help("File whose first line is that Owner's password"),
    setting("metrics_token", "TOKEN")
        .shown(Secrecy::Secret)
        .help("Bearer token for /metrics; without it they are at the socket agents.sock in the data directory alone"),
    setting("trusted_proxies", "IP,IP").help("Reverse proxies whose X-Forwarded-For is believed"),
    setting("max_connections", "N")
        .or("4096")
        .help("Connections at once; a quarter of them is kept for people who are signed in"),
    setting("max_connections_per_address", "N")
        .or("1024")
        .help("Connections of one address before anybody has signed in over them; trusted proxies have no such limit"),
    setting("upload_limit_mib", "N")
        .or("1024")
        .help("A file for a job, and all files of one upload together, have at most so many MiB"),
    setting("keep_logs_days", "N")
        .or("90")
        .help("Logs, outputs and figures of a job are removed so many days after its end; the job itself stays"),
    setting("keep_environments_days", "N").or("30").help(
        "A named environment that nothing has used for so many days is removed from the disk; the next use builds it \
         again",
    ),
    setting("session_idle_minutes", "N").or("720").help("A session ends after so many minutes without a request"),
    setting("session_max_hours", "N").or("168").help("A session ends so many hours after sign-in, however busy"),
    setting("currency", "CODE").or("EUR").help("The currency of prices, as three capitals: EUR, USD, CHF"),
    setting("local_nodes", "on|off").or("on").help("Whether nodes are made on the server's own machine"),
    setting("local_overcommit", "FACTOR")
        .or("2")
        .help("How many times the machine's cores are given out to nodes; memory is given out once"),
    setting("local_isolation", "on|users|off").or("on").help(
        "How people are kept apart on the server's own machine: by users of their own and, with bubblewrap, private \
         views; by users alone; not at all",
    ),
    setting("local_networks", "on|off")
        .or("on")
        .help("Whether each user has a separate network on the server's own machine, where private views are possible"),
    setting("network_range", "CIDR")
        .help("The private addresses of these networks [default: 10.213.0.0/16, or the next /16 that no route uses]"),
    setting("egress", "open|none|http://HOST:PORT")
        .or("open")
        .help("Where these networks lead: everywhere but to this machine, nowhere, or only to that HTTP proxy"),
    setting("first_uid", "N").help(
        "The first of 60,000 user numbers that people and their scripts get on the server's own machine [default: \
         where they began before, else 2100000000]",
    ),
    setting("environment", "auto|off")
        .or("auto")
        .help("Whether the server builds the Python environment of instances when it is missing"),
    setting("environments", "DIR")
        .help("Where such environments are, also for several servers [default: environments in the data directory]"),
    setting("python", "FILE")
        .or("/usr/bin/python3")
        .help("The Python that they stand on; everybody must be able to start it"),
    setting("alone_hours", "N")
        .or("24")
        .help("A node without a server and without jobs ends itself after so many hours"),
    setting("log", "FILTER").or("info").help("What is logged, such as info or atelier=debug,info"),
    setting("log_format", "FORMAT").or("auto").help("pretty, json, or auto: pretty on a terminal, json elsewhere"),
];

impl Setting {
    const fn or(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    const fn shown(self, secrecy: Secrecy) -> Self {
        Self { secrecy, ..self }
    }

    /// The flag, without its hyphens.
    pub fn flag(&self) -> String {
        self.key.replace('_', "-")
    }

    pub fn variable(&self) -> String {
        format!("ATELIER_{}", self.key.to_uppercase())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `--listen`.
    Flag(String),
    /// `ATELIER_LISTEN`.
    Variable(String),
    /// The file, by name.
    File(PathBuf),
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(out, "flag --{flag}"),
            Self::Variable(name) => write!(out, "environment variable {name}"),
            Self::File(file) => write!(out, "file {}", file.display()),
            Self::Default => out.write_str("default"),
        }
    }
}

/// A configuration that cannot be used: one line for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

/// The raw values and their sources, before they are parsed.
#[derive(Clone, Debug)]
pub struct Layers {
    values: BTreeMap<&'static str, (String, Source)>,
}

impl Layers {
    /// Joins the layers. `flags` holds what the command line said, by key.
    pub fn join(flags: &BTreeMap<String, String>, environment: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        let mut values: BTreeMap<_, _> =
            SETTINGS.iter().map(|setting| (setting.key, (setting.default.to_owned(), Source::Default))).collect();
        let over = |values: &mut BTreeMap<_, _>, from: &dyn Fn(&Setting) -> Option<(String, Source)>| {
            values.extend(SETTINGS.iter().filter_map(|setting| Some((setting.key, from(setting)?))));
        };
        let given = |setting: &Setting| {
            let flag = flags.get(setting.key).map(|value| (value.clone(), Source::Flag(setting.flag())));
            let variable = || environment.get(&setting.variable()).cloned().zip(Some(setting.variable()));
            flag.or_else(|| variable().map(|(value, name)| (value, Source::Variable(name))))
        };
        // Flags and environment go first, since they say where the file is; and last, since they beat it.
        over(&mut values, &given);
        let (file, must_exist) = match values["config"].0.as_str() {
            "" => (Path::new(&values["data"].0).join("atelier.toml"), false),
            named => (PathBuf::from(named), true),
        };
        let in_file = read_file(&file, must_exist)?;
        let of_file = |setting: &Setting| Some((in_file.get(setting.key)?.clone(), Source::File(file.clone())));
        over(&mut values, &of_file);
        over(&mut values, &given);
        Ok(Self { values })
    }

    /// Every setting with its shown value and its source.
    pub fn shown(&self) -> Vec<(&'static str, String, String)> {
        SETTINGS
            .iter()
            .map(|setting| {
                let (value, source) = &self.values[setting.key];
                let value = match setting.secrecy {
                    _ if value.is_empty() => "(unset)".to_owned(),
                    Secrecy::Open => value.clone(),
                    Secrecy::Secret => "********".to_owned(),
                    Secrecy::UrlWithPassword => mask_password(value),
                };
                (setting.key, value, source.to_string())
            })
            .collect()
    }

    fn parse<T>(&self, key: &'static str, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<T, ConfigError> {
        let (value, source) = &self.values[key];
        parse(value).map_err(|why| {
            let hidden = SETTINGS.iter().any(|setting| setting.key == key && setting.secrecy != Secrecy::Open);
            let shown = if hidden { "the value".to_owned() } else { format!("{value:?}") };
            ConfigError(format!("{key}: {shown} from {source} {why}"))
        })
    }

    fn optional<T>(
        &self,
        key: &'static str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, ConfigError> {
        self.parse(key, |value| if value.is_empty() { Ok(None) } else { parse(value).map(Some) })
    }
}

/// What the server runs with. [`SETTINGS`] says what each is.
#[derive(Clone, Debug)]
pub struct Config {
    pub listen: SocketAddr,
    pub data: PathBuf,
    pub database_url: Option<SecretString>,
    pub public_url: Option<url::Url>,
    pub apps_domain: String,
    pub apps_ports: Option<PortRange>,
    pub ssh_listen: Option<SocketAddr>,
    pub tls: Option<(PathBuf, PathBuf)>,
    /// The Owner to make if nobody has an account, and where the password is.
    pub admin: Option<(String, PathBuf)>,
    pub metrics_token: Option<SecretString>,
    pub trusted_proxies: Vec<IpAddr>,
    pub max_connections: u32,
    /// Of people who are not signed in.
    pub max_connections_per_address: u32,
    /// In bytes.
    pub upload_limit: u64,
    pub keep_logs_days: u32,
    pub keep_environments_days: u32,
    pub sessions: session::Limits,
    pub currency: String,
    /// How nodes are made on the server's own machine; none if they are not.
    pub local: Option<LocalSettings>,
    /// Where the user numbers of people begin; as before if nobody says.
    pub first_uid: Option<u32>,
    pub environments: EnvironmentSettings,
    pub log: String,
    pub log_format: LogFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Pretty,
    /// One JSON object a line.
    Json,
}

impl Config {
    /// Parses the joined layers.
    pub fn parse(layers: &Layers) -> Result<Self, ConfigError> {
        let path = |value: &str| Ok::<_, String>(PathBuf::from(value));
        let whole = |value: &str, min: u32, max: u32| match value.parse::<u32>() {
            Ok(number) if (min..=max).contains(&number) => Ok(number),
            _ => Err(format!("is not a whole number from {min} to {max}")),
        };
        let pair = |one: Option<PathBuf>, two: Option<PathBuf>, names: [&'static str; 2]| {
            let alone = |set: &'static str, unset: &str| {
                let (value, source) = &layers.values[set];
                Err(ConfigError(format!("{set}: {value:?} from {source} needs {unset} too; set both or neither")))
            };
            match (one, two) {
                (Some(one), Some(two)) => Ok(Some((one, two))),
                (None, None) => Ok(None),
                (Some(_), None) => alone(names[0], names[1]),
                (None, Some(_)) => alone(names[1], names[0]),
            }
        };
        let tls = pair(layers.optional("tls_cert", path)?, layers.optional("tls_key", path)?, ["tls_cert", "tls_key"])?;
        let email = layers.optional("admin_email", |value| {
            let email = atelier_domain::name::EmailAddress::parse(value)
                .map_err(|problem| format!("is refused: {}", problem.message))?;
            Ok(PathBuf::from(email.as_str()))
        })?;
        let admin = pair(email, layers.optional("admin_password_file", path)?, ["admin_email", "admin_password_file"])?;
        let listen: SocketAddr = layers.parse("listen", |value| {
            value.parse().map_err(|_| "is not an address with a port, such as 127.0.0.1:3000 or [::]:3000".to_owned())
        })?;
        let apps_domain = layers.parse("apps_domain", parse_domain)?;
        let apps_ports = layers.optional("apps_ports", |value| {
            let range = PortRange::parse(value)?;
            if range.contains(listen.port()) {
                return Err(format!("holds port {}, which is the portal’s own", listen.port()));
            }
            if apps_domain != APPS_DOMAIN {
                return Err(format!(
                    "is set beside apps_domain {apps_domain}; applications have names or ports, not both"
                ));
            }
            Ok(range)
        })?;
        Ok(Self {
            listen,
            data: layers.parse("data", |value| {
                if value.is_empty() { Err("is empty".into()) } else { Ok(PathBuf::from(value)) }
            })?,
            database_url: layers.optional("database_url", |value| {
                let known = ["postgres://", "postgresql://"].iter().any(|scheme| value.starts_with(scheme));
                if known {
                    // Here, not when the store opens: what is wrong is said with the setting's name, before
                    // anything starts.
                    let options = value.parse::<sqlx::postgres::PgConnectOptions>();
                    options
                        .map(|_| SecretString::from(value.to_owned()))
                        .map_err(|error| format!("is no address: {error}"))
                } else {
                    Err("does not start with postgres://".to_owned())
                }
            })?,
            public_url: layers.optional("public_url", parse_public_url)?,
            apps_domain,
            apps_ports,
            ssh_listen: layers.optional("ssh_listen", |value| {
                value.parse().map_err(|_| "is not an address with a port, such as 0.0.0.0:2222".to_owned())
            })?,
            tls,
            admin: admin.map(|(email, file)| (email.to_string_lossy().into_owned(), file)),
            metrics_token: layers.optional("metrics_token", |value| {
                if value.len() < 16 {
                    Err("has under 16 characters".to_owned())
                } else {
                    Ok(SecretString::from(value.to_owned()))
                }
            })?,
            trusted_proxies: layers.parse("trusted_proxies", |value| {
                let parts = value.split(',').map(str::trim).filter(|part| !part.is_empty());
                parts
                    .map(|part| part.parse().map_err(|_| format!("holds {part:?}, which is not an IP address")))
                    .collect()
            })?,
            max_connections: layers.parse("max_connections", |value| whole(value, 8, 1_000_000))?,
            max_connections_per_address: layers
                .parse("max_connections_per_address", |value| whole(value, 1, 1_000_000))?,
            upload_limit: u64::from(layers.parse("upload_limit_mib", |value| whole(value, 1, 1_048_576))?) << 20,
            keep_logs_days: layers.parse("keep_logs_days", |value| whole(value, 0, 36_500))?,
            keep_environments_days: layers.parse("keep_environments_days", |value| whole(value, 0, 36_500))?,
            sessions: session::Limits {
                idle: Span::minutes(layers.parse("session_idle_minutes", |value| whole(value, 5, 43_200))?),
                absolute: Span::hours(layers.parse("session_max_hours", |value| whole(value, 1, 8_760))?),
            },
            currency: layers.parse("currency", |value| {
                let is_code = value.len() == 3 && value.bytes().all(|byte| byte.is_ascii_uppercase());
                if is_code { Ok(value.to_owned()) } else { Err("is not three capitals, such as EUR".to_owned()) }
            })?,
            local: {
                let switch = |value: &str| match value {
                    "on" => Ok(true),
                    "off" => Ok(false),
                    _ => Err("is neither on nor off".to_owned()),
                };
                let overcommit = layers.parse("local_overcommit", |value| match value.parse::<f64>() {
                    Ok(factor) if (0.1..=64.0).contains(&factor) => Ok(factor),
                    _ => Err("is not a number from 0.1 to 64".to_owned()),
                })?;
                let isolation = layers.parse("local_isolation", |value| {
                    Isolation::parse(value).ok_or_else(|| "is none of on, users, off".to_owned())
                })?;
                let network = parse_network(layers, switch)?;
                let hours = layers.parse("alone_hours", |value| whole(value, 1, 8_760))?;
                let settings = LocalSettings {
                    overcommit,
                    isolation,
                    alone_seconds: u64::from(hours) * 3_600,
                    program: None,
                    carried: crate::server::carried::CARRIED,
                    // Said by who makes the driver.
                    environments: None,
                    network,
                };
                layers.parse("local_nodes", switch)?.then_some(settings)
            },
            first_uid: layers.optional("first_uid", |value| whole(value, *Uids::FIRST.start(), *Uids::FIRST.end()))?,
            environments: parse_environments(layers)?,
            log: layers.parse("log", |value| {
                tracing_subscriber::EnvFilter::try_new(value)
                    .map(|_| value.to_owned())
                    .map_err(|error| format!("is not a log filter: {error}"))
            })?,
            log_format: layers.parse("log_format", |value| match value {
                "pretty" => Ok(LogFormat::Pretty),
                "json" => Ok(LogFormat::Json),
                "auto" if std::io::IsTerminal::is_terminal(&std::io::stderr()) => Ok(LogFormat::Pretty),
                "auto" => Ok(LogFormat::Json),
                _ => Err("is none of pretty, json, auto".to_owned()),
            })?,
        })
    }

    /// Whether browsers reach us by TLS: our own, or a proxy's.
    pub fn is_secure(&self) -> bool {
        self.tls.is_some() || self.public_url.as_ref().is_some_and(|url| url.scheme() == "https")
    }

    /// What the studio needs to know of it.
    pub fn studio_settings(&self) -> Settings {
        Settings {
            currency: self.currency.clone(),
            sessions: self.sessions,
            upload_limit: self.upload_limit,
            keep_logs_days: self.keep_logs_days,
            keep_environments_days: self.keep_environments_days,
            address: self.address(),
            apps_domain: self.apps_domain.clone(),
            apps_ports: self.apps_ports.map(|range| range.to_string()),
            apps_trouble: self.apps_trouble(),
            apps_caution: self.apps_caution(),
        }
    }

    /// Why applications cannot be reached at addresses of their own, if so: other machines do not resolve
    /// names below `localhost`.
    pub fn apps_trouble(&self) -> Option<String> {
        let url = self.public_url.as_ref().filter(|_| self.apps_ports.is_none())?;
        let host = url.host_str().unwrap_or_default();
        let is_here = host == "localhost"
            || host.ends_with(".localhost")
            || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        let is_local = self.apps_domain == "localhost" || self.apps_domain.ends_with(".localhost");
        (is_local && !is_here).then(|| {
            format!(
                "Applications cannot be opened: people reach this server as {host}, and applications need names of \
                 their own. Point *.apps.{host} at this server and set apps_domain to apps.{host}. Where that cannot \
                 be had, set apps_ports to a range of ports; applications are then kept apart less."
            )
        })
    }

    /// What people should know about how applications are kept apart, if it is not as well as it could be.
    pub fn apps_caution(&self) -> Option<String> {
        self.apps_ports.map(|range| {
            format!(
                "Applications share the portal’s host name and have the ports {range}. Browsers keep their pages \
                 apart, but not their cookies: code that runs in an application can set cookies for the portal. An \
                 apps_domain with a wildcard in DNS keeps these apart too."
            )
        })
    }

    /// The host that people name to SSH: that of the portal.
    pub fn ssh_host(&self) -> String {
        match self.public_url.as_ref().and_then(|url| url.host_str()) {
            Some(host) => host.to_owned(),
            None => match self.ssh_listen.map(|listen| listen.ip()) {
                Some(ip) if !ip.is_loopback() && !ip.is_unspecified() => ip.to_string(),
                _ => "localhost".to_owned(),
            },
        }
    }

    /// Where programs on this machine's nodes that share its network find the server: by number, so that
    /// nobody who listens at another address of the same name is taken for it.
    pub fn address_by_number(&self) -> String {
        let ip = self.listen.ip();
        if self.public_url.is_some() || !(ip.is_loopback() || ip.is_unspecified()) {
            return self.address();
        }
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let host = match ip {
            IpAddr::V4(_) => "127.0.0.1",
            IpAddr::V6(_) => "[::1]",
        };
        format!("{scheme}://{host}:{}", self.listen.port())
    }

    /// The address to tell people.
    pub fn address(&self) -> String {
        if let Some(url) = &self.public_url {
            return url.as_str().trim_end_matches('/').to_owned();
        }
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let host = if self.listen.ip().is_loopback() || self.listen.ip().is_unspecified() {
            "localhost".to_owned()
        } else if self.listen.is_ipv6() {
            format!("[{}]", self.listen.ip())
        } else {
            self.listen.ip().to_string()
        };
        format!("{scheme}://{host}:{}", self.listen.port())
    }
}

/// Where users' networks are and lead.
fn parse_network(
    layers: &Layers,
    switch: impl FnOnce(&str) -> Result<bool, String>,
) -> Result<Option<NetworkSettings>, ConfigError> {
    let range = layers.optional("network_range", Range::parse)?;
    let egress = layers.parse("egress", Egress::parse)?;
    let is_on = layers.parse("local_networks", switch)?;
    let default = Range::parse("10.213.0.0/16").map_err(ConfigError)?;
    // Which addresses the database has is found out when the server starts.
    Ok(is_on.then(|| NetworkSettings {
        range: range.unwrap_or(default),
        is_chosen: range.is_some(),
        egress,
        denied: Vec::new(),
    }))
}

/// Nobody needs an environment where no nodes are made.
fn parse_environments(layers: &Layers) -> Result<EnvironmentSettings, ConfigError> {
    let data = layers.parse("data", |value| Ok(PathBuf::from(value)))?;
    let is_auto = layers.parse("environment", |value| match value {
        "auto" => Ok(true),
        "off" => Ok(false),
        _ => Err("is neither auto nor off".to_owned()),
    })?;
    let folder = layers.optional("environments", |value| Ok(PathBuf::from(value)))?;
    let python = layers.parse("python", |value| {
        let path = PathBuf::from(value);
        if path.is_absolute() { Ok(path) } else { Err("is not a whole path, such as /usr/bin/python3".to_owned()) }
    })?;
    let default = EnvironmentSettings::of(&data);
    Ok(EnvironmentSettings {
        is_shared: folder.is_some(),
        folder: folder.unwrap_or(default.folder),
        python,
        builds: is_auto && layers.values["local_nodes"].0 == "on",
        has_own_users: layers.values["local_isolation"].0 != "off",
        ..EnvironmentSettings::of(&data)
    })
}

fn parse_public_url(value: &str) -> Result<url::Url, String> {
    let url = url::Url::parse(value).map_err(|error| format!("is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("is not an http:// or https:// address".into());
    }
    if url.path() != "/" || url.query().is_some() {
        return Err("has a path; Atelier needs a host name of its own".into());
    }
    Ok(url)
}

/// A domain without a port or a dot in front.
fn parse_domain(value: &str) -> Result<String, String> {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
            && !label.contains("--")
    };
    if value.len() <= 190
        && value.split('.').all(is_label)
        && !value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        Ok(value.to_ascii_lowercase())
    } else {
        Err("is not a domain, such as apps.example.org".to_owned())
    }
}

fn read_file(file: &Path, must_exist: bool) -> Result<BTreeMap<String, String>, ConfigError> {
    let shown = file.display();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if !must_exist && matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(BTreeMap::new());
        }
        Err(error) => return Err(ConfigError(format!("config: the file {shown} cannot be read: {error}"))),
    };
    let table: toml::Table = toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count().max(1));
        ConfigError(format!(
            "config: the file {shown} is not TOML at line {line}: {}",
            error.message().replace('\n', " ")
        ))
    })?;
    let mut values = BTreeMap::new();
    for (key, value) in table {
        if key == "config" || !SETTINGS.iter().any(|setting| setting.key == key) {
            // The value may be a secret under a mistyped name.
            let value = if is_near_a_secret(&key) { "the value".to_owned() } else { value.to_string() };
            return Err(ConfigError(format!(
                "{key}: {value} from file {shown} is not a setting{}",
                did_you_mean(&key)
            )));
        }
        let text = match value {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Array(items) if items.iter().all(toml::Value::is_str) => {
                items.iter().filter_map(toml::Value::as_str).collect::<Vec<_>>().join(",")
            }
            other => {
                return Err(ConfigError(format!("{key}: {other} from file {shown} must be a text or a whole number")));
            }
        };
        values.insert(key, text);
    }
    Ok(values)
}

/// Names the setting that a mistyped key is nearest to, if one is near.
pub fn did_you_mean(key: &str) -> String {
    let key = key.replace('-', "_");
    let near = SETTINGS.iter().map(|setting| (edits(&key, setting.key), setting.key)).min();
    near.filter(|(edits, _)| *edits <= 2).map_or_else(String::new, |(_, key)| format!("; did you mean {key}?"))
}

fn is_near_a_secret(key: &str) -> bool {
    SETTINGS.iter().any(|setting| setting.secrecy != Secrecy::Open && edits(key, setting.key) <= 3)
}

/// The number of single-letter edits between two short words.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let next = if a == *b { diagonal } else { 1 + diagonal.min(row[j]).min(row[j + 1]) };
            diagonal = std::mem::replace(&mut row[j + 1], next);
        }
    }
    row[to.len()]
}

fn mask_password(address: &str) -> String {
    const MASK: &str = "********";
    let Ok(mut url) = url::Url::parse(address) else {
        return MASK.into();
    };
    if url.password().is_some() && url.set_password(Some(MASK)).is_err() {
        return MASK.into();
    }
    // libpq's way, which sqlx takes too.
    if url.query_pairs().any(|(key, _)| key.contains("password")) {
        url.set_query(Some(MASK));
    }
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn load(flags: &[(&str, &str)], environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::parse(&Layers::join(&map(flags), &map(environment))?)
    }

    #[test]
    fn ports_of_applications_are_an_explicit_choice_and_say_what_they_cost() {
        let config = load(&[], &[]).expect("parses");
        assert_eq!((config.apps_ports, config.apps_caution()), (None, None));
        let elsewhere = ("public_url", "https://atelier.example.org");
        let trouble = load(&[elsewhere], &[]).expect("parses").apps_trouble().expect("no names for applications");
        assert!(trouble.contains("*.apps.atelier.example.org") && trouble.contains("apps_ports"), "{trouble}");
        let config = load(&[elsewhere, ("apps_ports", "3100-3109")], &[]).expect("parses");
        assert_eq!(config.apps_trouble(), None);
        assert!(config.apps_caution().is_some_and(|text| text.contains("3100 to 3109") && text.contains("cookies")));
        for (flags, why) in [
            (vec![("apps_ports", "3000-3009")], "the portal’s own"),
            (vec![("apps_ports", "3100-3109"), ("apps_domain", "apps.example.org")], "not both"),
            (vec![("apps_ports", "many")], "such as 3100-3199"),
        ] {
            let error = load(&flags, &[]).expect_err("refused").to_string();
            assert!(error.starts_with("apps_ports") && error.contains(why), "{error}");
        }
    }

    #[test]
    fn a_flag_beats_the_environment_beats_the_file_beats_the_default() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = folder.path().to_str().expect("a plain path");
        std::fs::write(
            folder.path().join("atelier.toml"),
            "listen = \"127.0.0.1:1\"\nlog = \"debug\"\nsession_max_hours = 3\n",
        )
        .expect("written");
        let layers = Layers::join(
            &map(&[("data", data), ("listen", "127.0.0.1:3")]),
            &map(&[("ATELIER_LISTEN", "127.0.0.1:2"), ("ATELIER_LOG", "warn")]),
        )
        .expect("joins");
        let config = Config::parse(&layers).expect("parses");
        assert_eq!(config.listen.port(), 3);
        assert_eq!(config.log, "warn");
        assert_eq!(config.sessions.absolute, Span::hours(3));
        let shown: BTreeMap<_, _> = layers.shown().into_iter().map(|(key, _, source)| (key, source)).collect();
        assert_eq!(shown["listen"], "flag --listen");
        assert_eq!(shown["log"], "environment variable ATELIER_LOG");
        assert!(shown["session_max_hours"].starts_with("file "));
        assert_eq!(shown["log_format"], "default");
    }

    #[test]
    fn a_wrong_value_is_refused_in_one_line_with_key_value_and_source() {
        for (flags, environment, parts) in [
            (&[("listen", "3000")][..], &[][..], &["listen", "\"3000\"", "flag --listen"][..]),
            (&[], &[("ATELIER_LISTEN", "x:y")], &["listen", "\"x:y\"", "environment variable ATELIER_LISTEN"]),
            (&[("database_url", "mysql://u:secret@h")], &[], &["database_url", "postgres://"]),
            (&[("database_url", "postgres://u:secret@h:port/x")], &[], &["database_url", "port"]),
            (&[("tls_cert", "c.pem")], &[], &["tls_cert", "tls_key"]),
            (&[("admin_email", "nobody")], &[], &["admin_email", "\"nobody\"", "@ is missing"]),
            (&[("metrics_token", "short")], &[], &["metrics_token", "16 characters"]),
            (&[("trusted_proxies", "10.0.0.1,proxy")], &[], &["trusted_proxies", "\"proxy\""]),
            (&[("session_idle_minutes", "1")], &[], &["session_idle_minutes", "\"1\"", "5 to"]),
            (&[("environment", "on")], &[], &["environment", "\"on\"", "auto nor off"]),
            (&[("python", "python3")], &[], &["python", "whole path"]),
            (&[("log_format", "xml")], &[], &["log_format", "\"xml\""]),
            (&[("public_url", "https://x.org/sub")], &[], &["public_url", "host name of its own"]),
            (&[("config", "no/such/file.toml")], &[], &["no/such/file.toml", "cannot be read"]),
        ] {
            let error = load(flags, environment).expect_err("refused").to_string();
            assert!(!error.contains('\n') && !error.contains("secret"), "{error}");
            for part in parts {
                assert!(error.contains(part), "{error:?} lacks {part:?}");
            }
        }
    }

    #[test]
    fn an_unknown_key_in_the_file_is_named_with_a_proposal() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("my.toml");
        for (text, parts) in [
            ("lisen = \"a\"", &["lisen", "\"a\"", "did you mean listen?"][..]),
            ("listen = [1]", &["listen", "must be a text"]),
            ("listen = = 3", &["line 1", "my.toml"]),
        ] {
            std::fs::write(&file, text).expect("written");
            let error =
                load(&[("config", file.to_str().expect("a plain path"))], &[]).expect_err("refused").to_string();
            assert!(parts.iter().all(|part| error.contains(part)) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn secrets_are_masked() {
        let layers = Layers::join(
            &map(&[("database_url", "postgres://me:hush@db/x"), ("metrics_token", "0123456789abcdef0")]),
            &BTreeMap::new(),
        )
        .expect("joins");
        let shown = format!("{:?}", layers.shown());
        assert!(!shown.contains("hush") && !shown.contains("0123456789abcdef0"), "{shown}");
        assert!(shown.contains("postgres://me:********@db/x"), "{shown}");
        assert!(!format!("{:?}", Config::parse(&layers)).contains("hush"));
        assert!(!mask_password("postgres://db/x?user=me&password=hush").contains("hush"));
    }
}
