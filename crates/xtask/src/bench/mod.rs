//! `cargo xtask bench`: the figures that are promised, measured. `web` is the portal's release binary under
//! load, `engine` the core and the durable loop, `scheduling` turns and large arrays, `jobs` and `instances`
//! what runs on a node, `files` the workplace: its files, its environments (also alone, as `environments`)
//! and the way in by SSH (also alone, as `ssh`).
//!
//! Everything stays on this machine: a server on a free port of 127.0.0.1 with data of its own, which stops
//! at the end, and a load from threads of this process, so that both share the processors. Counts and times
//! are bounded.

mod build;
mod engine;
mod environments;
mod files;
mod first_load;
mod http;
mod instances;
mod jobs;
mod load;
mod log_lines;
mod peer;
mod peers;
mod report;
mod running;
mod scheduling;
mod spawn;
mod spent;
mod ssh;
mod studio;
mod turns;

use std::io::Write as _;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, thread};

use clap::{Args, Subcommand};
use files::Part;
use load::{milliseconds, pause, percentile};
use report::Report;
use report::Wanted::{AtLeast, AtMost, Below, Context};
use studio::{Account, Studio};
use turns::Turn;

use crate::failure::{Failure, Result};
use crate::progress::{announce, step};
use crate::server::{self, Profile};
use crate::workspace::Workspace;

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// The portal: memory, start, pages, sign-ins, first load
    Web(Options),
    /// Jobs on a node of this machine: throughput, latency, starts from zero, logs, agents
    Jobs(JobOptions),
    /// Instances on a node of this machine: start, terminal, the way to applications, the list
    Instances(InstanceOptions),
    /// The way into an instance by SSH, beside OpenSSH's own server
    Ssh(ServerOptions),
    /// The workplace: one large file up and down, a folder with many, environments, SSH
    Files(files::FileOptions),
    /// The engine: decisions a second, durable submissions, loading, schedules, crashes
    Engine(EngineOptions),
    /// Named environments: what a ready one adds to the start of a job
    Environments(ServerOptions),
    /// The compiler: from a clone to the first page, from an edit to the restarted server, a release
    Build(build::BuildOptions),
    /// Scheduling: the core with fair share and backfill, large arrays, the farm's day in the simulator,
    /// forecasts
    Scheduling(SchedulingOptions),
}

/// Which programs are measured.
#[derive(Debug, Args)]
struct Programs {
    /// Measure this binary in place of a fresh build
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Also measure the release binary of another tree, in turn with this one, and print both and their
    /// ratio. Keep it outside of this clone, where no build replaces it
    #[arg(long, value_name = "FILE")]
    before: Option<PathBuf>,
}

impl Programs {
    /// Checks the program before, which takes no time, and only then builds this one.
    fn find(&self, workspace: &Workspace) -> Result<(PathBuf, Option<PathBuf>)> {
        let before = self.before.as_deref().map(|file| {
            let file = file.canonicalize().map_err(Failure::file("finding the program of --before:", file))?;
            match [workspace.root(), workspace.target()].iter().any(|folder| file.starts_with(folder)) {
                true => Err(Failure::new(format!(
                    "--before {} is inside of this clone, where a build replaces it: copy it somewhere else first",
                    file.display()
                ))),
                false => Ok(file),
            }
        });
        let before = before.transpose()?;
        Ok((chosen(workspace, self.binary.as_deref())?, before))
    }

    /// Measures this program and, in turn with it, the one before. Gives what `measure` gave for this one.
    fn measure<T: Send>(
        &self,
        workspace: &Workspace,
        report: &mut Report,
        measure: impl Fn(&Program<'_>, &mut Report) -> Result<T> + Sync,
    ) -> Result<T> {
        let (binary, before) = self.find(workspace)?;
        let folder = scratch()?;
        let Some(before) = before else {
            return measure(&Program { binary: &binary, folder: folder.path(), turn: &Turn::alone() }, report);
        };
        let folder_before = scratch()?;
        let mut report_before = Report::default();
        let (measured, _) = turns::in_turn(
            |turn| measure(&Program { binary: &binary, folder: folder.path(), turn }, report),
            |turn| measure(&Program { binary: &before, folder: folder_before.path(), turn }, &mut report_before),
        )?;
        report.compare(&report_before);
        Ok(measured)
    }
}

/// A program that is measured.
#[derive(Debug)]
pub struct Program<'a> {
    binary: &'a Path,
    /// For its data and whatever else it needs; gone at the end.
    folder: &'a Path,
    turn: &'a Turn<'a>,
}

impl Program<'_> {
    fn studio(&self) -> Result<Studio> {
        Studio::new(self.binary.to_owned(), self.folder)
    }
}

#[derive(Debug, Args)]
pub struct JobOptions {
    /// Print JSON in place of the table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    programs: Programs,
    /// Also measure Ray, installed for this run into a throw-away environment (needs python3 and PyPI)
    #[arg(long)]
    peer: bool,
}

#[derive(Debug, Args)]
pub struct InstanceOptions {
    /// How long each load lasts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=300))]
    seconds: u32,
    /// Print JSON in place of the table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    programs: Programs,
    /// Compare with this nginx in place of the one that is installed
    #[arg(long, value_name = "FILE")]
    nginx: Option<PathBuf>,
    /// Measure only these, with commas between them
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<instances::Part>,
}

#[derive(Debug, Args)]
pub struct ServerOptions {
    /// Print JSON in place of the table
    #[arg(long)]
    json: bool,
    /// Measure this binary in place of a fresh build, to compare two versions
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct SchedulingOptions {
    /// Print JSON in place of the table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub struct EngineOptions {
    /// How long the durable loop is under load
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=300))]
    seconds: u32,
    /// Print JSON in place of the table
    #[arg(long)]
    json: bool,
    /// Leave the crash test out, which takes some minutes
    #[arg(long)]
    no_crashes: bool,
}

#[derive(Debug, Args)]
pub struct Options {
    /// How long each load lasts
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=300))]
    seconds: u32,
    /// Print JSON in place of the table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    programs: Programs,
    /// Also measure JupyterHub, installed for this run into a throw-away environment (needs python3 and PyPI)
    #[arg(long)]
    peer: bool,
}

const PEOPLE: usize = 1_000;
const RESTARTS: usize = 10;
const CONNECTIONS: usize = 16;
/// Idle means that nothing was asked for some seconds.
const IDLE: Duration = Duration::from_secs(4);
const WARM_UP: Duration = Duration::from_secs(1);

const SIGN_INS_PER_SECOND: f64 = 20.0;
/// Enough that a slow answer does not hold the next sign-in back.
const SIGN_IN_CONNECTIONS: usize = 16;
const PAGES_PER_SECOND: f64 = 100.0;
const PAGE_CONNECTIONS: usize = 4;

/// Connections of strangers: as many as a server has places for, and some that are slow.
const SILENT: usize = 4_096;
const SLOW: usize = 1_000;

const HOME: &str = "/w/studio";
const PEOPLE_PAGE: &str = "/w/studio/admin/people";
const SIGN_IN_PAGE: &str = "/sign-in";

/// The binary that is to be measured, or a fresh one.
fn chosen(workspace: &Workspace, named: Option<&Path>) -> Result<PathBuf> {
    named.map_or_else(|| server::build_with_site(workspace, Profile::Release), |binary| Ok(binary.to_owned()))
}

fn scratch() -> Result<tempfile::TempDir> {
    tempfile::tempdir().map_err(|error| Failure::new(format!("no temporary directory: {error}")))
}

pub fn bench(workspace: &Workspace, bench: &Bench) -> Result<()> {
    let mut report = Report::default();
    report.note(machine()?);
    let has_json = match bench {
        Bench::Web(options) => {
            bench_web(workspace, options, &mut report)?;
            options.json
        }
        Bench::Jobs(options) => {
            let ours = options.programs.measure(workspace, &mut report, jobs::measure)?;
            jobs::measure_agents(workspace, &mut report)?;
            if options.peer {
                peers::compare(scratch()?.path(), &ours, &mut report)?;
            }
            options.json
        }
        Bench::Instances(options) => {
            bench_instances(workspace, options, &mut report)?;
            options.json
        }
        Bench::Ssh(options) => {
            crate::setup::sshd()?;
            let (binary, folder) = (chosen(workspace, options.binary.as_deref())?, scratch()?);
            ssh::measure(binary, folder.path(), &mut report)?;
            options.json
        }
        Bench::Files(options) => {
            bench_files(workspace, options, &mut report)?;
            options.json
        }
        Bench::Engine(options) => {
            engine::measure(workspace, options.seconds, !options.no_crashes, &mut report)?;
            options.json
        }
        Bench::Environments(options) => {
            let (binary, folder) = (chosen(workspace, options.binary.as_deref())?, scratch()?);
            environments::measure(&Studio::new(binary, folder.path())?, &mut report)?;
            options.json
        }
        Bench::Build(options) => {
            build::measure(workspace, options, &mut report)?;
            options.json
        }
        Bench::Scheduling(options) => {
            scheduling::measure(workspace, &mut report)?;
            options.json
        }
    };
    if has_json {
        println!("{:#}", report.json());
    } else {
        println!("\n{}", report.table());
    }
    Ok(())
}

fn bench_web(workspace: &Workspace, options: &Options, report: &mut Report) -> Result<()> {
    let lasting = Duration::from_secs(options.seconds.into());
    let rates = options.programs.measure(workspace, report, |program, report| web(program, lasting, report))?;
    if options.peer {
        peer::compare(scratch()?.path(), PEOPLE, CONNECTIONS, lasting, &rates, report)?;
    }
    Ok(())
}

fn bench_files(workspace: &Workspace, options: &files::FileOptions, report: &mut Report) -> Result<()> {
    let binary = chosen(workspace, options.binary.as_deref())?;
    if options.has(Part::Transfer) || options.has(Part::List) {
        let folder = scratch()?;
        files::measure(&Studio::new(binary.clone(), folder.path())?, folder.path(), options, report)?;
    }
    if options.has(Part::Environments) {
        let folder = scratch()?;
        environments::measure(&Studio::new(binary.clone(), folder.path())?, report)?;
    }
    if options.has(Part::Ssh) {
        crate::setup::sshd()?;
        ssh::measure(binary, scratch()?.path(), report)?;
    }
    Ok(())
}

fn bench_instances(workspace: &Workspace, options: &InstanceOptions, report: &mut Report) -> Result<()> {
    let lasting = Duration::from_secs(options.seconds.into());
    let plan = instances::Plan { lasting, only: &options.only, nginx: options.nginx.as_deref() };
    let measure = |program: &Program<'_>, report: &mut Report| instances::measure(workspace, program, &plan, report);
    options.programs.measure(workspace, report, measure)
}

/// How many pages a second were answered, for the comparison with others.
#[derive(Debug)]
pub struct Rates {
    pub home: f64,
    pub people: f64,
}

fn web(program: &Program<'_>, lasting: Duration, report: &mut Report) -> Result<Rates> {
    let (studio, turn) = (&program.studio()?, program.turn);
    let accounts = step(&format!("Making {PEOPLE} people"), || {
        let (server, _) = studio.start()?;
        let accounts = studio.seed(&server, PEOPLE)?;
        server.stop()?;
        Ok(accounts)
    })?;
    turn.pass()?;
    step(&format!("Starting {RESTARTS} times on that database"), || start(studio, turn, report))?;

    let (server, _) = studio.start()?;
    step("Leaving the server alone", || {
        pause(IDLE);
        report.add("idle resident memory after the start", AtMost(40.0), server.memory_mb("VmRSS")?, "MB");
        Ok(())
    })?;
    let cookie = studio.sign_in(&server)?;
    step("Loading the first page", || first_load(&server, &cookie, report))?;
    turn.pass()?;

    let mut rate = |what: &str, path: &str, cookie: &str, rate, p99| {
        step(&format!("Loading {what} over {CONNECTIONS} connections"), || {
            let request = http::request("GET", path, server.port(), &studio::page_headers(cookie), "");
            load::as_fast_as_possible(server.port(), CONNECTIONS, WARM_UP, &request)?;
            let before = server.processor_seconds()?;
            let outcome = load::as_fast_as_possible(server.port(), CONNECTIONS, lasting, &request)?;
            let used = (server.processor_seconds()? - before) * 1_000.0;
            report.add(format!("{what}: requests"), rate, outcome.per_second(), "/s");
            report.add(format!("{what}: p50"), Context, outcome.percentile_ms(0.5), "ms");
            report.add(format!("{what}: p99"), p99, outcome.percentile_ms(0.99), "ms");
            report.add(format!("{what}: the server's processor time"), Context, used / outcome.count() as f64, "ms");
            Ok(outcome.per_second())
        })
        .and_then(|rate| turn.pass().map(|()| rate))
    };
    let rates = Rates {
        people: rate("People, 50 rows of 1,000", PEOPLE_PAGE, &cookie, AtLeast(1_000.0), AtMost(50.0))?,
        home: rate("Home, signed in", HOME, &cookie, Context, Context)?,
    };
    rate("sign-in page", SIGN_IN_PAGE, "", Context, Context)?;
    step("Signing in while pages are loaded", || sign_ins(&server, &accounts, &cookie, lasting, report))?;
    turn.pass()?;

    step("Loading pages while strangers hold connections", || strangers(&server, &cookie, lasting, report))?;
    turn.pass()?;

    step("Leaving the server alone", || {
        pause(IDLE);
        report.add("idle resident memory after the load", AtMost(40.0), server.memory_mb("VmRSS")?, "MB");
        report.add("most resident memory at any time", Context, server.memory_mb("VmHWM")?, "MB");
        Ok(())
    })?;
    server.stop()?;
    Ok(rates)
}

/// From the start of the process to the first answer of `/readyz`.
fn start(studio: &Studio, turn: &Turn<'_>, report: &mut Report) -> Result<()> {
    let mut took = Vec::new();
    for _ in 0..RESTARTS {
        let (server, ready_after) = studio.start()?;
        took.push(ready_after);
        server.stop()?;
        turn.pass()?;
    }
    took.sort_unstable();
    let what = format!("start to ready, {RESTARTS} restarts");
    report.add(format!("{what}: median"), AtMost(300.0), milliseconds(percentile(&took, 0.5)), "ms");
    report.add(format!("{what}: worst"), AtMost(300.0), milliseconds(percentile(&took, 1.0)), "ms");
    Ok(())
}

fn first_load(server: &running::Running, cookie: &str, report: &mut Report) -> Result<()> {
    for (what, path, cookie) in [("sign-in page", SIGN_IN_PAGE, ""), ("Home", HOME, cookie)] {
        let load = first_load::load(server, path, cookie)?;
        let kilobytes = |bytes: usize| bytes as f64 / 1e3;
        let total = kilobytes(load.without_fonts());
        report.add(format!("first load of {what}, without fonts"), AtMost(200.0), total, "kB");
        report.add(format!("first load of {what}: its HTML as sent"), Context, kilobytes(load.html), "kB");
        let compressed = kilobytes(load.html_as_brotli);
        report.add(format!("first load of {what}: its HTML in brotli"), Context, compressed, "kB");
        report.add(format!("first load of {what}: preloaded fonts"), Context, kilobytes(load.fonts), "kB");
    }
    Ok(())
}

/// Distinct people sign in at a steady pace while others read.
fn sign_ins(
    server: &running::Running,
    accounts: &[Account],
    cookie: &str,
    lasting: Duration,
    report: &mut Report,
) -> Result<()> {
    let port = server.port();
    let page = http::request("GET", PEOPLE_PAGE, port, &studio::page_headers(cookie), "");
    let count = |per_second: f64| (per_second * lasting.as_secs_f64()) as usize;
    let pages = vec![page; count(PAGES_PER_SECOND)];
    let sign_ins: Vec<Vec<u8>> =
        accounts.iter().take(count(SIGN_INS_PER_SECOND)).map(|account| account.sign_in_request(port)).collect();
    let (signed_in, loaded) = thread::scope(|scope| {
        let signing_in = scope.spawn(|| load::at_a_pace(port, SIGN_IN_CONNECTIONS, SIGN_INS_PER_SECOND, sign_ins));
        let loaded = load::at_a_pace(port, PAGE_CONNECTIONS, PAGES_PER_SECOND, pages);
        (signing_in.join(), loaded)
    });
    let signed_in = signed_in.map_err(|_| Failure::new("a thread of the load panicked"))??;
    let loaded = loaded?;
    report.add("sign-ins with full argon2", AtLeast(19.0), signed_in.per_second(), "/s");
    report.add("sign-ins: p50", Context, signed_in.percentile_ms(0.5), "ms");
    report.add("sign-ins: p99", Context, signed_in.percentile_ms(0.99), "ms");
    report.add("People meanwhile, 100 a second over 4 connections: p50", Context, loaded.percentile_ms(0.5), "ms");
    report.add(
        "People meanwhile, 100 a second over 4 connections: p99",
        Below(100.0),
        loaded.percentile_ms(0.99),
        "ms",
    );
    Ok(())
}

/// Somebody reads pages while strangers hold connections over which they say nothing, or only a byte now and
/// then.
fn strangers(server: &running::Running, cookie: &str, lasting: Duration, report: &mut Report) -> Result<()> {
    let port = server.port();
    let open = |count: usize| -> Result<Vec<TcpStream>> {
        let one = |_| TcpStream::connect((Ipv4Addr::LOCALHOST, port));
        (0..count).map(one).collect::<std::io::Result<_>>().map_err(|error| {
            Failure::new(format!("{count} connections could not be opened; does `ulimit -n` allow 8,192? {error}"))
        })
    };
    let page = http::request("GET", PEOPLE_PAGE, port, &studio::page_headers(cookie), "");
    let pages = vec![page; (PAGES_PER_SECOND * lasting.as_secs_f64()) as usize];
    let (silent, mut slow) = (open(SILENT)?, open(SLOW)?);
    let is_over = AtomicBool::new(false);
    let loaded = thread::scope(|scope| {
        scope.spawn(|| {
            let mut head = b"GET / HTTP/1.1\r\nx-slow: ".iter().chain(std::iter::repeat(&b'x'));
            while !is_over.load(Ordering::Relaxed) {
                let Some(byte) = head.next() else { break };
                // Those that the server has closed are no load any more; a stranger would open others.
                slow.retain_mut(|stream| stream.write_all(&[*byte]).is_ok());
                while slow.len() < SLOW
                    && let Ok(stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                {
                    slow.push(stream);
                }
                pause(Duration::from_millis(250));
            }
        });
        let loaded = load::at_a_pace(port, PAGE_CONNECTIONS, PAGES_PER_SECOND, pages);
        is_over.store(true, Ordering::Relaxed);
        loaded
    })?;
    drop(silent);
    let what = format!("People, with {SILENT} silent and {SLOW} slow connections of strangers");
    report.add(format!("{what}: p50"), Context, loaded.percentile_ms(0.5), "ms");
    report.add(format!("{what}: p99"), AtMost(100.0), loaded.percentile_ms(0.99), "ms");
    Ok(())
}

/// What the figures depend on, and whether others were at work.
fn machine() -> Result<String> {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let read =
        |path: &str| fs::read_to_string(path).map_err(|error| Failure::new(format!("reading {path} failed: {error}")));
    let load = read("/proc/loadavg")?;
    let load = load.split(' ').next().unwrap_or_default();
    let memory = read("/proc/meminfo")?;
    let memory =
        memory.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    let gib = memory.unwrap_or_default() / 1_024.0 / 1_024.0;
    if load.parse::<f64>().is_ok_and(|load| load > 1.0) {
        announce("The machine is busy or just was; figures will look worse than they are");
    }
    Ok(format!(
        "{cores} cores, {gib:.0} GiB; load before the run {load}. The load generator shares the cores with the server."
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        bench: Bench,
    }

    fn programs(line: &[&str]) -> Programs {
        match Line::try_parse_from([&["bench"], line].concat()).expect("the line is complete").bench {
            Bench::Web(options) => options.programs,
            Bench::Jobs(options) => options.programs,
            Bench::Instances(options) => options.programs,
            other => panic!("not compared: {other:?}"),
        }
    }

    #[test]
    fn three_benches_take_a_program_to_compare_with() {
        for bench in ["web", "jobs", "instances"] {
            assert_eq!(programs(&[bench]).before, None);
            let both = programs(&[bench, "--before", "old/atelier", "--binary", "new/atelier"]);
            assert_eq!(both.before.as_deref(), Some(Path::new("old/atelier")));
            assert_eq!(both.binary.as_deref(), Some(Path::new("new/atelier")));
        }
        assert!(Line::try_parse_from(["bench", "engine", "--before", "old/atelier"]).is_err());
    }

    #[test]
    fn a_program_that_a_build_would_replace_is_refused_before_anything_is_built() {
        let workspace = Workspace::find().expect("the tests run in the clone");
        let inside = workspace.root().join("Cargo.toml");
        let find = |before: PathBuf| Programs { binary: None, before: Some(before) }.find(&workspace);
        let failure = find(inside).expect_err("it is in the clone").to_string();
        assert!(failure.contains("inside of this clone"), "{failure}");
        let failure = find(PathBuf::from("/no/such/atelier")).expect_err("there is none").to_string();
        assert!(failure.starts_with("finding the program of --before: /no/such/atelier failed"), "{failure}");
    }

    #[test]
    fn both_programs_are_measured_in_turn_and_compared() {
        let workspace = Workspace::find().expect("the tests run in the clone");
        let outside = tempfile::tempdir().expect("a temporary folder");
        let file = |name: &str| {
            let path = outside.path().join(name);
            fs::write(&path, name).expect("the folder is ours");
            Some(path)
        };
        let programs = Programs { binary: file("this"), before: file("before") };
        let mut report = Report::default();
        let measure = |program: &Program<'_>, report: &mut Report| {
            for round in 1..=2 {
                let length = fs::read(program.binary).map_err(Failure::file("reading", program.binary))?.len();
                report.add(format!("round {round}"), Context, length as f64, "B");
                program.turn.pass()?;
            }
            Ok(program.folder.to_owned())
        };
        programs.measure(&workspace, &mut report, measure).expect("both are measured");
        let figures = report.json();
        assert_eq!((&figures["figures"][1]["measured"], &figures["figures"][1]["before"]), (&4.0.into(), &6.0.into()));
    }
}
