//! One file: how it looks, and what can be done with it.

use atelier_domain::access::Action;
use atelier_domain::files::bytes;
use atelier_domain::paths;
use atelier_files::Kind;
use atelier_studio::files::list::FileDetail;
use atelier_studio::files::preview::Preview;
use atelier_studio::instances::commands::JUPYTER;
use leptos::prelude::*;

use crate::components::{Card, Def, DefList, EmptyState, LinkButton, Look, NavItem, Page, TableWrap, Tone, Why, ago};
use crate::files::pages::notebook;
use crate::files::pages::parts::crumbs;
use crate::frame::{Place, Visit, help, load, studio};
use crate::server::caller::here;
use crate::server::page;

#[component]
pub fn FilePage() -> impl IntoView {
    studio(Place::of(NavItem::Files, Action::FileRead, &[]), |visit| {
        let path = page::query("path").unwrap_or_default();
        load(
            visit.viewer.clone(),
            async move { atelier_studio::files::list::file_detail(&here()?, path).await },
            move |detail| show(&visit, detail),
        )
    })
}

fn show(visit: &Visit, detail: FileDetail) -> AnyView {
    let slug = visit.slug();
    if detail.entry.kind == Kind::Folder {
        page::redirect(&paths::files(slug, detail.path.as_str()));
        return ().into_any();
    }
    if detail.path.is_top() {
        return help::not_found(&visit.viewer, "file");
    }
    let actions = actions(slug, &detail);
    let facts = facts(visit, &detail);
    let (heading, crumbs) = (detail.path.name().to_owned(), crumbs(slug, &detail.path));
    let shown = match detail.preview {
        Some(preview) => preview_of(slug, &detail.path, preview),
        None => html! {
            <Why
                tone=Tone::Neutral title="There is nothing to show"
                text="This is a link, a pipe or a socket. Links are not followed here; open what it points to."
            />
        },
    };
    html! {
        <Page heading=heading crumbs=crumbs actions=actions>
            <div class="split files">
                <div class="stack preview">{shown}</div>
                <aside class="stack">{facts}</aside>
            </div>
        </Page>
    }
}

fn actions(slug: &str, detail: &FileDetail) -> AnyView {
    let path = detail.path.as_str();
    let refusal = detail.refusal.clone();
    let edit = detail.is_text.then(|| {
        view! {
            <LinkButton href=paths::file_page(slug, "edit", path) icon="pencil" disabled_because=refusal>
                "Edit"
            </LinkButton>
        }
    });
    let run = detail.runs.then(|| {
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("file", path).finish();
        let href = format!("{}?{query}", paths::new_job(slug));
        view! { <LinkButton href=href icon="play">"Run as a job"</LinkButton> }
    });
    let download = (detail.entry.kind == Kind::File).then(|| {
        view! {
            <LinkButton href=paths::file_download(slug, path) look=Look::Primary icon="download">"Download"</LinkButton>
        }
    });
    html! { {edit}{run}{download} }
}

fn facts(visit: &Visit, detail: &FileDetail) -> AnyView {
    let slug = visit.slug();
    let owner = if detail.owner.is_empty() { "nobody in particular".to_owned() } else { detail.owner.clone() };
    let inside = detail.inside.clone();
    let changed = ago(&visit.viewer, atelier_domain::Timestamp(detail.entry.changed));
    let size = bytes(detail.entry.size);
    let labs: Vec<_> = detail
        .labs
        .iter()
        .map(|name| {
            let href = paths::open_app(slug, name, JUPYTER, &lab_address(detail.path.as_str()));
            view! {
                <LinkButton href=href block=true icon="notebook">{format!("Open in JupyterLab on {name}")}</LinkButton>
            }
        })
        .collect();
    let labs = (!labs.is_empty()).then(|| view! { <div class="stack-s">{labs}</div> });
    let change = detail.refusal.is_none().then(|| {
        let query =
            url::form_urlencoded::Serializer::new(String::new()).append_pair("id", detail.path.as_str()).finish();
        let delete = format!("{}?{query}", paths::delete_files(slug));
        view! {
            <div class="row">
                <LinkButton href=paths::file_page(slug, "move", detail.path.as_str()) small=true icon="pencil">
                    "Rename or move"
                </LinkButton>
                <LinkButton href=delete look=Look::DangerQuiet small=true icon="trash" dialog=true>"Delete"</LinkButton>
            </div>
        }
    });
    html! {
        <Card heading="About this file">
            <DefList>
                <Def term="Size">{size}</Def>
                <Def term="Changed">{changed}</Def>
                <Def term="Owner">{owner}</Def>
                <Def term="In jobs and instances"><code class="wrap">{inside}</code></Def>
            </DefList>
            {labs}
            {change}
        </Card>
    }
}

/// Where JupyterLab shows a file: the area stands in every home as `workspace`.
fn lab_address(path: &str) -> String {
    let escaped: Vec<String> = path
        .split('/')
        .map(|name| url::form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>().replace('+', "%20"))
        .collect();
    format!("/lab/tree/workspace/{}", escaped.join("/"))
}

fn preview_of(slug: &str, path: &atelier_domain::files::FilePath, preview: Preview) -> AnyView {
    let cut = |is_cut: bool| {
        is_cut
            .then(|| view! { <p class="faint xs">"Only the beginning is shown. Download the file for all of it."</p> })
    };
    match preview {
        Preview::Text { language, markup, is_cut } => {
            let label = format!("The text, as {language}");
            html! {
                <pre class="source" tabindex="0" role="region" aria-label=label><code inner_html=markup></code></pre>
                {cut(is_cut)}
            }
        }
        Preview::Markdown { markup, is_cut } => {
            html! { <article class="card prose" inner_html=markup></article>{cut(is_cut)} }
        }
        Preview::Table { head, rows, is_cut } => {
            let columns = head.len();
            let head: Vec<_> = head.into_iter().map(|cell| view! { <th scope="col">{cell}</th> }).collect();
            let rows: Vec<_> = rows
                .into_iter()
                .map(|row| {
                    let missing = columns.saturating_sub(row.len());
                    let cells: Vec<_> = row
                        .into_iter()
                        .chain(std::iter::repeat_n(String::new(), missing))
                        .map(|cell| view! { <td>{cell}</td> })
                        .collect();
                    view! { <tr>{cells}</tr> }
                })
                .collect();
            html! {
                <TableWrap scrolls="The table">
                    <table class="table tight data"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>
                </TableWrap>
                {cut(is_cut)}
            }
        }
        Preview::Notebook(shown) => notebook::show(slug, path, *shown),
        Preview::Image => {
            let (src, alt) = (paths::file_image(slug, path.as_str()), format!("The picture {}", path.name()));
            html! { <figure class="card picture"><img src=src alt=alt/></figure> }
        }
        Preview::None { why } => html! { <EmptyState art=false heading="There is no preview" text=why/> },
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn addresses_of_jupyter_keep_their_names() {
        assert_eq!(super::lab_address("Users/ines/a b#?.ipynb"), "/lab/tree/workspace/Users/ines/a%20b%23%3F.ipynb");
    }
}
