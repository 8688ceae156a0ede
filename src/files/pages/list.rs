//! A folder.

use atelier_domain::access::Action;
use atelier_domain::files::{FilePath, bytes};
use atelier_domain::paths;
use atelier_domain::text::{counted, grouped};
use atelier_files::{Entry, Kind, Order, Wanted};
use atelier_studio::files::list::{FolderPage, PAGE};
use leptos::prelude::*;
use leptos::tachys::html::InertElement;

use crate::components::{
    Banner, BulkAction, BulkBar, BulkForm, Button, Card, Checkbox, EmptyState, Field, FilterBar, Icon, LinkButton,
    Look, Meter, NavItem, NothingLeft, Page, Pager, PickAll, PickCell, PostForm, Query, SaveRow, Sort, SortHeader,
    SubmitButton, Table, Tone, Why, ago,
};
use crate::files::http::take;
use crate::files::pages::parts::{crumbs, icon};
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

/// A folder, as the address sorts and filters it.
#[component]
pub fn FilesPage() -> impl IntoView {
    studio(Place::of(NavItem::Files, Action::FileRead, &[]), |visit| {
        let query = Query::here();
        let (path, wanted) = (query.get("path").to_owned(), wanted(&query));
        let sort = Sort::by(key(wanted.order), wanted.is_backwards);
        load(
            visit.viewer.clone(),
            async move { atelier_studio::files::list::folder(&here()?, &path, wanted).await },
            move |page| show(&visit, query, sort, page),
        )
    })
}

const fn key(order: Order) -> &'static str {
    match order {
        Order::Name => "name",
        Order::Size => "size",
        Order::Changed => "changed",
    }
}

fn wanted(query: &Query) -> Wanted {
    Wanted {
        part: query.get("q").chars().take(200).collect(),
        order: [Order::Size, Order::Changed]
            .into_iter()
            .find(|order| key(*order) == query.get("sort"))
            .unwrap_or_default(),
        is_backwards: query.get("dir") == "desc",
        skip: query.get("after").parse().unwrap_or_default(),
        most: PAGE,
        hides_dots: query.get("dots") != "shown",
    }
}

fn show(visit: &Visit, query: Query, sort: Sort, page: FolderPage) -> AnyView {
    let slug = visit.slug();
    let heading = if page.path.is_top() { "Files".to_owned() } else { page.path.name().to_owned() };
    let sub = match page.path.person() {
        _ if page.path.is_top() => {
            format!("The same files in every instance and job, as {} there. They stay when instances go.", page.inside)
        }
        _ if page.path.is_users() => "Everybody’s own folder. What is closed is for its owner alone.".to_owned(),
        Some(handle) => match page.owners.name(handle) {
            Some(name) if page.path.is_home() => format!("The own folder of {name}."),
            _ => String::new(),
        },
        None => String::new(),
    };
    let crumbs = crumbs(slug, &page.path);
    let actions = actions(slug, &page);
    let notices = notices(visit, &page);
    let content = content(visit, &query, sort, &page);
    let side = side(visit, &page);
    let filters = filters(&query, &page);
    html! {
        <Page heading=heading sub=sub crumbs=crumbs actions=actions>
            {notices}
            <div class="split files">
                <div class="stack">{filters}{content}</div>
                <aside class="stack">{side}</aside>
            </div>
        </Page>
    }
}

fn actions(slug: &str, page: &FolderPage) -> AnyView {
    let path = page.path.as_str();
    let home = (page.path != page.home).then(|| {
        view! { <LinkButton href=paths::files(slug, page.home.as_str()) icon="user">"My folder"</LinkButton> }
    });
    let zip = (page.has_own_users || page.path.person().is_some() || !page.path.is_top() && !page.path.is_users())
        .then(|| {
            view! { <LinkButton href=paths::file_zip(slug, path) icon="download">"Download as ZIP"</LinkButton> }
        });
    let refusal = page.refusal.clone();
    html! {
        {home}
        {zip}
        <LinkButton href=paths::file_page(slug, "new", path) look=Look::Primary icon="plus" disabled_because=refusal>
            "New file"
        </LinkButton>
    }
}

/// What went wrong with the last upload, and what concerns the whole page.
fn notices(visit: &Visit, page: &FolderPage) -> AnyView {
    let state = visit.form(take::FORM);
    let refused = state.refusal().or_else(|| state.problem("files")).map(|reason| {
        view! { <Why tone=Tone::Failed title="The upload was not taken" text=reason alert=true/> }
    });
    let deleted = visit.refused(&["delete_files"]);
    let shared = (!page.has_own_users && page.path.is_top()).then(|| {
        view! {
            <Banner
                tone=Tone::Warning
                text="On this server all programs run as one user: the portal keeps people’s folders apart, but a \
                      program in a job or an instance can read all of them."
            />
        }
    });
    html! { {refused}{deleted}{shared} }
}

fn filters(query: &Query, page: &FolderPage) -> AnyView {
    let dots = query.get("dots") == "shown";
    let hidden = page.listing.hidden;
    let link = if dots {
        let url = query.clone().from_the_start().with("dots", "").url();
        html! { <a class="btn ghost sm" href=url>"Hide names with a dot"</a> }
    } else if hidden > 0 {
        let url = query.clone().from_the_start().with("dots", "shown").url();
        html! { <a class="btn ghost sm" href=url>{format!("Show {hidden} hidden")}</a> }
    } else {
        ().into_any()
    };
    html! { <FilterBar query=query.clone() label="Filter files" placeholder="Filter by name">{link}</FilterBar> }
}

fn content(visit: &Visit, query: &Query, sort: Sort, page: &FolderPage) -> AnyView {
    if page.listing.entries.is_empty() {
        return nothing(query, page);
    }
    let slug = visit.slug();
    let header = |label, order: Order, class: &'static str| {
        view! {
            <SortHeader
                label=label key=key(order) sort=sort.clone() query=query.clone() descending_first=order != Order::Name
                class=class
            />
        }
    };
    let (name, size, changed) = (
        header("Name", Order::Name, ""),
        header("Size", Order::Size, "right"),
        header("Changed", Order::Changed, "right"),
    );
    let rows: Vec<_> = page.listing.entries.iter().map(|entry| row(visit, page, entry)).collect();
    let skip: usize = query.get("after").parse().unwrap_or_default();
    let (first, last) = (skip + 1, skip + page.listing.entries.len());
    let matching = page.listing.matching;
    let count = counted(matching as u64, "entry", "entries");
    let text = if matching > page.listing.entries.len() {
        format!("{} to {} of {count}", grouped(first as u64), grouped(last as u64))
    } else {
        count
    };
    let back = (skip > 0).then(|| query.after(skip.saturating_sub(PAGE)));
    let next = (last < matching).then(|| query.after(last));
    let unnamable = (page.listing.unnamable > 0).then(|| {
        let text = format!(
            "{} left out, since their names are no text. Rename them in a terminal.",
            counted(page.listing.unnamable as u64, "entry is", "entries are")
        );
        view! { <p class="faint xs">{text}</p> }
    });
    let delete = BulkAction { verb: "Delete", icon: "trash", asks_at: paths::delete_files(slug), is_dangerous: true };
    let (refusal, caption) = (page.refusal.clone(), format!("What is in {}", page.path));
    html! {
        <BulkForm action=paths::delete_files(slug)>
            <Table
                class="table tight" caption=caption rows=rows
                head=view! {
                    <PickAll label="Select everything on this page"/>
                    {name}
                    {size}
                    {changed}
                    <th scope="col" class="c-owner">"Owner"</th>
                    <td class="menu-cell"></td>
                }
            >
                <Pager text=text back=back next=next/>
            </Table>
            {unnamable}
            <BulkBar noun="files" actions=vec![delete] disabled_because=refusal/>
        </BulkForm>
    }
}

fn row(visit: &Visit, page: &FolderPage, entry: &Entry) -> AnyView {
    let slug = visit.slug();
    let Ok(path) = page.path.join(&entry.name) else { return ().into_any() };
    let is_folder = entry.kind == Kind::Folder;
    let href =
        if is_folder { paths::files(slug, path.as_str()) } else { paths::file_page(slug, "view", path.as_str()) };
    let is_closed = is_folder && page.path.is_users() && !entry.is_open() && path != page.home;
    let name = entry.name.clone();
    let label = if entry.kind == Kind::Link { format!("{name} (a link)") } else { name.clone() };
    let link = if is_closed {
        html! { <span class="file faint"><Icon name="lock" class="i-s"/><span>{label}</span></span> }
    } else {
        html! { <a class="file" href=href><Icon name=icon(entry.kind, &path) class="i-s"/><span>{label}</span></a> }
    };
    let size = if is_folder { String::new() } else { bytes(entry.size) };
    let owner = page.owners.of(&path, entry);
    let changed = atelier_domain::Timestamp(entry.changed);
    let menu = menu(slug, page, &path, entry);
    html! {
        <tr data-key=name.clone()>
            <PickCell id=path.as_str().to_owned() label=format!("Select {name}")/>
            <th scope="row">{link}</th>
            <td class="right nowrap">{size}</td>
            <td class="right">{ago(&visit.viewer, changed)}</td>
            <td class="c-owner">{owner}</td>
            <td class="menu-cell">{menu}</td>
        </tr>
    }
}

fn menu(slug: &str, page: &FolderPage, path: &FilePath, entry: &Entry) -> AnyView {
    let id = format!("m-{}", entry.version);
    let get = match entry.kind {
        Kind::Folder => Some((paths::file_zip(slug, path.as_str()), "Download as ZIP")),
        Kind::File => Some((paths::file_download(slug, path.as_str()), "Download")),
        Kind::Link | Kind::Other => None,
    };
    let get = get.map(|(href, words)| view! { <a href=href><Icon name="download"/>{words}</a> });
    let is_fixed = page.path.is_users() || path.is_users();
    let change = (page.refusal.is_none() && !is_fixed).then(|| {
        let delete = format!("{}?{}", paths::delete_files(slug), id_query(path.as_str()));
        view! {
            <a href=paths::file_page(slug, "move", path.as_str())><Icon name="pencil"/>"Rename or move…"</a>
            <hr/>
            <a href=delete data-confirm=""><Icon name="trash"/>"Delete…"</a>
        }
    });
    html! {
        <Button look=Look::Ghost small=true icon="more" label=format!("More about {}", entry.name) opens=id.clone()/>
        <div class="menu" id=id popover="auto">{get}{change}</div>
    }
}

fn id_query(path: &str) -> String {
    url::form_urlencoded::Serializer::new(String::new()).append_pair("id", path).finish()
}

fn nothing(query: &Query, page: &FolderPage) -> AnyView {
    if !query.get("q").is_empty() {
        let clear = query.clone().from_the_start().with("q", "").url();
        let heading = format!("Nothing here matches “{}”", query.get("q"));
        let text = "Names in this folder are searched, not those in the folders below it.";
        return html! { <NothingLeft heading=heading text=text clear=clear/> };
    }
    let text = if page.refusal.is_none() {
        "Drop files on the box beside this, or choose them there. Programs in your instances and jobs find them at the \
         same path."
    } else {
        "Whoever may write here has put nothing into it yet."
    };
    html! { <EmptyState heading="This folder is empty" text=text/> }
}

/// Uploads, new folders, and how much room there is.
fn side(visit: &Visit, page: &FolderPage) -> AnyView {
    let slug = visit.slug();
    let uploads = page.refusal.is_none().then(|| upload(slug, page));
    let folder = page.refusal.is_none().then(|| {
        let (state, hidden) = (visit.form("make_folder"), vec![("path", page.path.as_str().to_owned())]);
        let help =
            if page.path.is_top() { "At the top a folder is shared: everybody may change what is in it." } else { "" };
        view! {
            <Card heading="New folder">
                <PostForm function="make_folder" state=state.clone() hidden=hidden>
                    <Field form=&state label="Name" name="name" required=true autocomplete="off" help=help/>
                    <SaveRow label="Make folder" icon="folder" pending="Making…"/>
                </PostForm>
            </Card>
        }
    });
    let door = page.is_home_open.map(|is_open| {
        let (words, value, label, icon) = if is_open {
            ("Everybody may look into your folder. You alone change it.", "", "Close my folder", "lock")
        } else {
            ("Only you see what is in your folder.", "on", "Let everybody look", "globe")
        };
        let (state, hidden) = (visit.form("open_folder"), vec![("open", value.to_owned())]);
        view! {
            <Card heading="Who sees it">
                <PostForm function="open_folder" state=state hidden=hidden>
                    <p>{words}</p>
                    <div class="row"><SubmitButton look=Look::Plain icon=icon>{label}</SubmitButton></div>
                </PostForm>
            </Card>
        }
    });
    let (free, size) = page.room;
    let (used, max, text) = match page.limit {
        Some(limit) => (page.used, limit, format!("{} of {}", bytes(page.used), bytes(limit))),
        None => (page.used, size, format!("{}, no limit", bytes(page.used))),
    };
    let disk = format!("{} of {} free", bytes(free), bytes(size));
    let (usage, trash) = (paths::files_usage(slug), paths::trash(slug));
    let tree = tree(slug, page);
    html! {
        {tree}
        {uploads}
        {folder}
        {door}
        <Card heading="Room">
            <Meter label="You use" value=used as f64 max=max.max(1) as f64 text=text/>
            <Meter label="Disk" value=size.saturating_sub(free) as f64 max=size.max(1) as f64 text=disk/>
            <div class="row">
                <LinkButton href=usage small=true icon="gauge">"What uses it"</LinkButton>
                <LinkButton href=trash small=true icon="trash">"Trash"</LinkButton>
            </div>
        </Card>
    }
}

/// The folders from the top down to this one, with those beside them.
fn tree(slug: &str, page: &FolderPage) -> AnyView {
    let inner = level(slug, page, 0);
    let top = folder_link(slug, page, &FilePath::default());
    html! {
        <Card heading="Folders">
            <nav class="folder-tree" aria-label="Folders"><ul><li>{top}{inner}</li></ul></nav>
        </Card>
    }
}

/// One level of the tree; the next is inside the folder that leads on.
fn level(slug: &str, page: &FolderPage, number: usize) -> AnyView {
    let Some(this) = page.tree.get(number).filter(|this| !this.folders.is_empty()) else { return ().into_any() };
    let next = page.tree.get(number + 1).map(|next| &next.folder);
    let folders: Vec<_> = this
        .folders
        .iter()
        .map(|folder| {
            let inner = if next == Some(folder) { level(slug, page, number + 1) } else { ().into_any() };
            let link = folder_link(slug, page, folder);
            view! { <li>{link}{inner}</li> }
        })
        .collect();
    let more = (this.more > 0 || this.is_partial).then(|| {
        let text = match (this.more, this.is_partial) {
            (0, _) => "… more".to_owned(),
            (more, true) => format!("… {} or more", grouped(more as u64)),
            (more, false) => format!("… {} more", grouped(more as u64)),
        };
        let (href, label) = (paths::files(slug, this.folder.as_str()), format!("{text} in {}", this.folder));
        view! { <li><a class="faint" href=href aria-label=label>{text}</a></li> }
    });
    html! { <ul>{folders}{more}</ul> }
}

fn folder_link(slug: &str, page: &FolderPage, folder: &FilePath) -> AnyView {
    let name = if folder.is_top() { "Files".to_owned() } else { folder.name().to_owned() };
    let current = (*folder == page.path).then_some("page");
    let href = paths::files(slug, folder.as_str());
    html! { <a href=href aria-current=current><Icon name="folder" class="i-s"/><span>{name}</span></a> }
}

/// The form for files. Script sends them in pieces, shows how far they are, and goes on after a cut.
fn upload(slug: &str, page: &FolderPage) -> AnyView {
    let (action, pieces) = (paths::file_upload(slug, page.path.as_str()), paths::file_pieces(slug));
    let into = page.path.as_str().to_owned();
    // The view macro does not know the attribute that lets one choose a folder.
    let folder = r#"<input class="input" id="f-upload-folder" name="upload" type="file" multiple webkitdirectory>"#;
    html! {
        <Card heading="Upload">
            <form
                method="post" action=action enctype="multipart/form-data" class="stack drop" data-post="upload_files"
                data-upload=pieces data-upload-into=into
            >
                <Checkbox
                    name="replace" label="Replace files of the same name"
                    help="Otherwise they are left as they are, and you are told."
                />
                <div class="field">
                    <label for="f-upload">"Files"</label>
                    <input class="input" id="f-upload" name="upload" type="file" multiple=true/>
                    <p class="help needs-script">"Or drop them here."</p>
                </div>
                <details class="more">
                    <summary>"A whole folder"</summary>
                    <div class="field">
                        <label for="f-upload-folder">"Folder"</label>
                        {InertElement::new(folder.to_owned())}
                    </div>
                </details>
                <SaveRow label="Upload" look=Look::Primary icon="plus" pending="Uploading…"/>
                <div class="upload-progress" data-upload-progress="" hidden=true>
                    <progress max="100" value="0" aria-label="How far the upload is"></progress>
                    <p class="xs" data-upload-said=""></p>
                </div>
            </form>
        </Card>
    }
}
