//! Others that run many small jobs, measured in the same run: Ray, installed into a throw-away environment.
//! HyperQueue and Slurm are looked for, and that they were not measured is said.
//!
//! None of them keeps a job through a crash of its server as Atelier does; the figures say what that costs,
//! or does not.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::report::Report;
use super::report::Wanted::{AtLeast, Context};
use crate::failure::{Failure, Result};
use crate::process;
use crate::progress::step;

/// What Atelier did in this run.
#[derive(Debug)]
pub struct Ours {
    pub array: f64,
    pub singles: f64,
    pub one_ms: f64,
}

/// Always the same, so that figures of different days can be compared.
const RAY_VERSION: &str = "2.60.0";

/// A task that runs `/bin/true`, as an Atelier job does; 2 at once. The folder for what Ray writes is its
/// argument.
const RAY: &str = r#"
import subprocess, sys, time, json, ray
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000, _temp_dir=sys.argv[1])

@ray.remote(num_cpus=1)
def job():
    return subprocess.call(["/bin/true"])

ray.get([job.remote() for _ in range(50)])
count = 3000
began = time.perf_counter()
ray.get([job.remote() for _ in range(count)])
rate = count / (time.perf_counter() - began)
took = []
for _ in range(200):
    began = time.perf_counter()
    ray.get(job.remote())
    took.append(time.perf_counter() - began)
took.sort()
print(json.dumps({"rate": rate, "one_ms": took[len(took) // 2] * 1000, "version": ray.__version__}))
"#;

/// Measures those that can be had, and says how many times faster Atelier was.
pub fn compare(folder: &Path, ours: &Ours, report: &mut Report) -> Result<()> {
    let folder = folder.join("peers");
    fs::create_dir_all(&folder).map_err(Failure::file("making", &folder))?;
    ray(&folder, ours, report)?;
    for (program, name) in [("hq", "HyperQueue"), ("sbatch", "Slurm")] {
        report.note(match process::find(program) {
            Some(_) => format!(
                "{name} is installed here; how it is set up is not known to this bench, so it was not measured."
            ),
            None => format!("{name} was not measured: there is no `{program}` on the PATH."),
        });
    }
    Ok(())
}

fn ray(folder: &Path, ours: &Ours, report: &mut Report) -> Result<()> {
    let environment = folder.join("environment");
    let installed = step(&format!("Installing Ray {RAY_VERSION} into a throw-away environment"), || {
        process::run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        let mut pip = Command::new(environment.join("bin/pip"));
        process::run(pip.args(["install", "--quiet", "--disable-pip-version-check", &format!("ray=={RAY_VERSION}")]))
    });
    if let Err(error) = installed {
        report.note(format!("Ray could not be installed and was not measured: {error}"));
        return Ok(());
    }
    // Not `ray.py`: Python would take it for Ray itself.
    let script = folder.join("tasks.py");
    fs::write(&script, RAY).map_err(Failure::file("writing", &script))?;
    let printed = step("Running /bin/true as tasks of Ray", || {
        let mut python = Command::new(environment.join("bin/python"));
        python.arg(&script).arg(folder.join("t"));
        // It keeps nothing outside of this folder and tells nobody.
        python.env("HOME", folder).env("RAY_USAGE_STATS_ENABLED", "0").env("RAY_AUTH_MODE", "disabled");
        process::output(&mut python)
    })?;
    let line = printed.lines().rev().find(|line| line.starts_with('{')).unwrap_or_default();
    let figures: serde_json::Value =
        serde_json::from_str(line).map_err(|error| Failure::new(format!("Ray printed {line:?}: {error}")))?;
    let (rate, one) = (figures["rate"].as_f64().unwrap_or(f64::NAN), figures["one_ms"].as_f64().unwrap_or(f64::NAN));
    let name = format!("Ray {}", figures["version"].as_str().unwrap_or_default());
    report.add(format!("{name}: tasks that run /bin/true, not durable"), Context, rate, "/s");
    report.add(format!("array against {name}"), AtLeast(2.5), ours.array / rate, "×");
    report.add(format!("single submissions over HTTP against {name}"), Context, ours.singles / rate, "×");
    report.add(format!("{name}: one at a time, median"), Context, one, "ms");
    report.add(format!("one at a time against {name}"), AtLeast(1.1), one / ours.one_ms, "×");
    Ok(())
}
