//! A folder with ten thousand files, for programs and for people.

use std::fs;
use std::path::Path;

use super::super::load::{milliseconds, now, percentile};
use super::super::report::Report;
use super::super::report::Wanted::{AtMost, Context};
use super::super::running::Running;
use super::super::studio;
use crate::failure::{Failure, Result};
use crate::progress::step;

const FILES: usize = 10_000;
const ROUNDS: usize = 30;

pub fn measure(server: &Running, token: &str, cookie: &str, folder: &Path, report: &mut Report) -> Result<()> {
    let many = folder.join("data/files/shared/many");
    step(&format!("Making {FILES} files"), || {
        fs::create_dir_all(&many).map_err(Failure::file("making", &many))?;
        for number in 0..FILES {
            let file = many.join(format!("measurement-{number:05}.csv"));
            fs::write(&file, b"a,b\n1,2\n").map_err(Failure::file("writing", &file))?;
        }
        Ok(())
    })?;
    let bearer = format!("Bearer {token}");
    let whole = format!("/api/v1/files?path=many&limit={FILES}");
    let said = format!("a folder of {FILES} files listed, all of it, over the API");
    time(server, &said, &whole, &[("authorization", &bearer)], report)?;
    let said = format!("the page of a folder of {FILES} files, 200 rows of it");
    time(server, &said, "/w/studio/files?path=many", &studio::page_headers(cookie), report)?;
    let said = "… sorted by size, for which each file is looked at";
    time(server, said, "/w/studio/files?path=many&sort=size", &studio::page_headers(cookie), report)
}

fn time(server: &Running, what: &str, path: &str, headers: &[(&str, &str)], report: &mut Report) -> Result<()> {
    let mut took = Vec::new();
    step(what, || {
        for _ in 0..ROUNDS {
            let began = now();
            let answer = server.ask("GET", path, headers, "")?;
            took.push(began.elapsed());
            if answer.status != 200 {
                return Err(Failure::new(format!("{path} answered with status {}", answer.status)));
            }
        }
        Ok(())
    })?;
    took.sort_unstable();
    report.add(format!("{what}: median"), AtMost(100.0), milliseconds(percentile(&took, 0.5)), "ms");
    report.add(format!("{what}: worst of {ROUNDS}"), Context, milliseconds(percentile(&took, 1.0)), "ms");
    Ok(())
}
