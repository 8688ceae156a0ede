//! The files that a job left behind.

use atelier_domain::files::bytes;
use atelier_domain::paths;
use atelier_studio::jobs::detail::JobDetail;
use atelier_studio::jobs::retention;
use leptos::prelude::*;

use crate::components::{Card, Icon, Table, Tone, Why, ago, heads};
use crate::frame::Visit;

/// A table for each part that left something behind.
pub fn cards(visit: &Visit, detail: &JobDetail) -> AnyView {
    let id = detail.row.job.id.to_string();
    let is_one = detail.outputs.len() == 1 && detail.attempts.len() == 1;
    let cards: Vec<_> = detail
        .outputs
        .iter()
        .map(|outputs| {
            let rows: Vec<_> = outputs
                .files
                .iter()
                .map(|file| {
                    let href =
                        paths::job_output(visit.slug(), &id, outputs.attempt, outputs.rank, &escaped(&file.path));
                    let (path, size) = (file.path.clone(), bytes(file.size));
                    view! {
                        <tr data-key=path.clone()>
                            <th scope="row">
                                <a class="file" href=href download="">
                                    <Icon name="download" class="i-s"/>
                                    <span>{path.clone()}</span>
                                </a>
                            </th>
                            <td class="right nowrap">{size}</td>
                            <td class="right">{ago(&visit.viewer, file.changed)}</td>
                        </tr>
                    }
                })
                .collect();
            let more = outputs.has_more.then(|| {
                view! {
                    <div class="table-foot">{format!("Only the first {} files are listed.", outputs.files.len())}</div>
                }
            });
            let note = if is_one {
                format!("{} in outputs/", atelier_domain::text::counted(outputs.files.len() as u64, "file", "files"))
            } else {
                format!("attempt {}, part {} on {}", outputs.attempt, outputs.rank, outputs.node)
            };
            view! {
                <Card heading="Outputs" note=note flush=true>
                    <Table
                        class="table tight" caption="Files that the job left behind" rows=rows
                        head=heads(&[("File", ""), ("Size", "right"), ("Changed", "right")])
                    >
                        {more}
                    </Table>
                </Card>
            }
        })
        .collect();
    let kept = kept(visit, detail);
    if cards.is_empty() && detail.row.ended.is_some() {
        let word = match detail.log.removed_after {
            Some(days) => retention::sentence(days),
            None => "It left no files in its folder outputs.".to_owned(),
        };
        return html! {
            {kept}
            <Card heading="Outputs"><p class="muted">{word}</p></Card>
        };
    }
    html! { {kept}{cards} }
}

/// Where in Files the outputs are, or why they are not.
fn kept(visit: &Visit, detail: &JobDetail) -> Option<AnyView> {
    let kept = detail.kept.as_ref()?;
    if !kept.problem.is_empty() {
        let text = kept.problem.clone();
        return Some(html! { <Why tone=Tone::Failed title="The outputs are not in Files" text=text/> });
    }
    if kept.path.is_empty() {
        return None;
    }
    let (href, path) = (paths::files(visit.slug(), &kept.path), kept.path.clone());
    Some(html! {
        <Why tone=Tone::Good title="The outputs are in Files">
            <a class="file" href=href><Icon name="folder" class="i-s"/><span>{path}</span></a>
        </Why>
    })
}

/// A path in an address: each step is escaped by itself.
fn escaped(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/');
    path.bytes().map(|byte| if plain(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn paths_become_addresses() {
        assert_eq!(super::escaped("a b/ü?.txt"), "a%20b/%C3%BC%3F.txt");
    }
}
