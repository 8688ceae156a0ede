//! Who uses how much, and what could go.

use atelier_domain::access::Action;
use atelier_domain::files::{FilePath, bytes};
use atelier_domain::paths;
use atelier_domain::text::{counted, grouped};
use atelier_domain::time::Span;
use atelier_studio::files::list::UsagePage;
use leptos::prelude::*;

use crate::components::{Card, Crumb, EmptyState, LinkButton, Meter, NavItem, Page, Table, Tone, Why, ago, heads};
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

/// Files untouched for this long may have been forgotten.
const OLD: Span = Span::hours(180 * 24);

/// What uses the room.
#[component]
pub fn FilesUsagePage() -> impl IntoView {
    studio(Place::of(NavItem::Files, Action::FileRead, &[]), |visit| {
        load(visit.viewer.clone(), async { atelier_studio::files::list::usage_page(&here()?).await }, move |page| {
            show(&visit, &page)
        })
    })
}

fn show(visit: &Visit, page: &UsagePage) -> AnyView {
    let slug = visit.slug();
    let crumbs = vec![Crumb::new("Files", paths::files(slug, ""))];
    let (free, size) = page.room;
    let used = page.mine.bytes;
    let (max, text) = match page.limit {
        Some(limit) => (limit, format!("{} of {}", bytes(used), bytes(limit))),
        None => (size, format!("{}, no limit", bytes(used))),
    };
    let disk = format!("{} of {} free", bytes(free), bytes(size));
    let all = format!("{} in Files altogether", bytes(page.total));
    let partial = page.is_partial.then(|| {
        view! {
            <p class="faint xs">"There is more than was counted: folders that lie very deep, or very many files."</p>
        }
    });
    let at = ago(&visit.viewer, page.at);
    let (hints, largest, people) = (hints(visit, page), largest(visit, page), people(page));
    html! {
        <Page
            heading="What uses the room" crumbs=crumbs
            sub="Counted on disk, your trash and unfinished uploads included."
        >
            <div class="split files">
                <div class="stack">{hints}{largest}{people}</div>
                <aside class="stack">
                    <Card heading="Room">
                        <Meter label="You use" value=used as f64 max=max.max(1) as f64 text=text/>
                        <Meter label="Disk" value=size.saturating_sub(free) as f64 max=size.max(1) as f64 text=disk/>
                        <p class="muted">{all}</p>
                        {partial}
                        <p class="faint xs">"Counted "{at}"."</p>
                    </Card>
                </aside>
            </div>
        </Page>
    }
}

/// What could go, with what it would free.
fn hints(visit: &Visit, page: &UsagePage) -> AnyView {
    let slug = visit.slug();
    let trash = (page.mine.trash > 0).then(|| {
        let (text, href) =
            (format!("{} lie in your trash and count as used.", bytes(page.mine.trash)), paths::trash(slug));
        view! {
            <Why tone=Tone::Neutral title="Empty your trash" text=text>
                <LinkButton href=href small=true icon="trash">"Look at the trash"</LinkButton>
            </Why>
        }
    });
    let uploads = (page.mine.uploads > 0).then(|| {
        let text = format!(
            "{} of uploads have not come to their end. They go a day after the last piece.",
            bytes(page.mine.uploads)
        );
        view! { <Why tone=Tone::Neutral title="Unfinished uploads" text=text/> }
    });
    let is_old = |changed: i64| visit.viewer.now.0.saturating_sub(changed) > OLD.as_millis();
    let old: Vec<_> = page.mine.largest.iter().filter(|large| is_old(large.changed)).collect();
    let forgotten = (!old.is_empty()).then(|| {
        let size = bytes(old.iter().map(|large| large.size).sum());
        let text = format!(
            "{} among your largest were not changed for half a year: {size}.",
            counted(old.len() as u64, "file", "files")
        );
        view! { <Why tone=Tone::Neutral title="Perhaps forgotten" text=text/> }
    });
    html! { {trash}{uploads}{forgotten} }
}

fn largest(visit: &Visit, page: &UsagePage) -> AnyView {
    if page.mine.largest.is_empty() {
        return html! {
            <EmptyState heading="You keep nothing in Files yet" text="Your largest files are named here."/>
        };
    }
    let slug = visit.slug();
    let rows: Vec<_> = page
        .mine
        .largest
        .iter()
        .map(|large| {
            let folder = FilePath::parse(&large.path).ok().and_then(|path| path.parent()).unwrap_or_default();
            let (href, path, size) = (paths::files(slug, folder.as_str()), large.path.clone(), bytes(large.size));
            let at = atelier_domain::Timestamp(large.changed);
            view! {
                <tr>
                    <th scope="row"><a class="file" href=href><span>{path}</span></a></th>
                    <td class="right nowrap">{size}</td>
                    <td class="right">{ago(&visit.viewer, at)}</td>
                </tr>
            }
        })
        .collect();
    html! {
        <Card heading="Your largest files" flush=true>
            <Table
                class="table tight" caption="Your largest files" rows=rows
                head=heads(&[("File", ""), ("Size", "right"), ("Changed", "right")])
            />
        </Card>
    }
}

fn people(page: &UsagePage) -> AnyView {
    let Some(people) = &page.people else { return ().into_any() };
    let rows: Vec<_> = people
        .iter()
        .take(200)
        .map(|(name, handle, size, files)| {
            let (name, handle, size, files) = (name.clone(), handle.clone(), bytes(*size), grouped(*files));
            view! {
                <tr>
                    <th scope="row">{name}" "<span class="faint">{handle}</span></th>
                    <td class="right nowrap">{size}</td>
                    <td class="right nowrap" data-label="files">{files}</td>
                </tr>
            }
        })
        .collect();
    html! {
        <Card heading="Everybody" note="for who sets the limit" flush=true>
            <Table
                class="table tight" caption="What everybody uses" rows=rows
                head=heads(&[("Person", ""), ("Uses", "right"), ("Files", "right")])
            />
        </Card>
    }
}
