//! Pages for when a page cannot be shown: each says what did not happen, why, and what one can do now.

use atelier_domain::access::{Denied, Role};
use atelier_domain::paths;
use leptos::prelude::*;

use crate::components::{Avatar, BareShell, Card, Glyph, Icon, LinkButton, Look, NavItem, Page, Tone, WayOut, Why};
use crate::error::AppError;
use crate::frame::{Place, studio};
use crate::server::page;
use crate::viewer::Viewer;

/// An address that leads nowhere.
#[component]
pub fn UnknownPage() -> impl IntoView {
    page::set_status(404);
    match page::viewer() {
        Some(_) => {
            let place = Place { nav: NavItem::Elsewhere, needs: None, topics: &[] };
            studio(place, |visit| not_found(&visit.viewer, "page"))
        }
        None => view! {
            <BareShell
                heading="There is no page here"
                sub="The address leads nowhere. It may be mistyped, or from another server."
            >
                <LinkButton href="/" look=Look::Primary>"Go to Atelier"</LinkButton>
            </BareShell>
        }
        .into_any(),
    }
}

/// The page for an error of a read, with its status.
pub fn problem(viewer: &Viewer, error: AppError) -> AnyView {
    page::set_status(error.status());
    match error {
        AppError::Forbidden { denied, .. } => forbidden(viewer, &denied),
        AppError::NotFound { what } => not_found(viewer, &what),
        AppError::SignedOut => {
            page::redirect(paths::SIGN_IN);
            ().into_any()
        }
        AppError::Invalid { .. }
        | AppError::Refused { .. }
        | AppError::TooMany { .. }
        | AppError::Unavailable { .. }
        | AppError::Transport { .. } => wrong_request(viewer, &error),
        AppError::Internal { request } => broken(viewer, &request),
    }
}

/// A right is missing: which, who has it, who can grant it, and what is possible instead.
pub fn forbidden(viewer: &Viewer, denied: &Denied) -> AnyView {
    page::set_status(403);
    let code = format!("denied.permission · {} · request {}", denied.action.key(), page::request_id());
    let missing = format!("Permission {} is missing", denied.action.key());
    let reason = denied.sentence();
    let (helpers, possible, decision) = (helpers(viewer), possible(viewer), decision(viewer, denied));
    view! {
        <Page heading=format!("You cannot {}", denied.action.label()) title="Not allowed" sub="Nothing was changed.">
            <div class="split">
                <div class="stack">
                    <Why tone=Tone::Denied title=missing text=reason code=code alert=true/>
                    {helpers}
                </div>
                <aside class="stack">{possible}{decision}</aside>
            </div>
        </Page>
    }
    .into_any()
}

fn helpers(viewer: &Viewer) -> AnyView {
    let rows: Vec<_> = viewer
        .helpers
        .iter()
        .map(|name| {
            view! {
                <li>
                    <span class="who">
                        <Avatar name=name.clone() large=true/>
                        <span class="name">{name.clone()}</span>
                    </span>
                </li>
            }
        })
        .collect();
    let content = if rows.is_empty() {
        view! {
            <p class="muted">
                "No Owner can sign in at the moment. Somebody with access to the server can help: "
                <code>"atelier user reset-password EMAIL"</code>
                "."
            </p>
        }
        .into_any()
    } else {
        view! {
            <p class="muted">"Ask one of them for the right, or to do it for you."</p>
            <ul class="stack-s">{rows}</ul>
        }
        .into_any()
    };
    view! { <Card heading="Who can help" note="people who may grant or do this">{content}</Card> }.into_any()
}

fn possible(viewer: &Viewer) -> AnyView {
    let (roles, home) = (paths::roles(&viewer.workspace.slug), paths::home(&viewer.workspace.slug));
    view! {
        <Card heading="What you can do now">
            <WayOut href=roles icon="shield" label="See what your roles allow" help="Every right of every role."/>
            <WayOut href=home icon="home" label="Go to Home" help="What you may see and do starts there."/>
        </Card>
    }
    .into_any()
}

fn decision(viewer: &Viewer, denied: &Denied) -> AnyView {
    let roles = viewer.role_labels();
    let held = if roles.is_empty() { "no role".to_owned() } else { atelier_domain::text::and_list(&roles) };
    let needed: Vec<&str> = denied.needed.iter().map(|role: &Role| role.label()).collect();
    let needed = match needed.as_slice() {
        [] => "no role has it".to_owned(),
        some => format!("in {}", atelier_domain::text::and_list(some)),
    };
    let signed_in = format!("Signed in as {}", viewer.email);
    let member = format!("Member of {}", viewer.workspace.name);
    let action = denied.action.key();
    view! {
        <Card heading="How this was decided">
            <ol class="events">
                <li data-state="running">
                    <span class="t">"1"</span>
                    <Glyph name="succeeded"/>
                    <span>{signed_in}</span>
                </li>
                <li data-state="running">
                    <span class="t">"2"</span><Glyph name="succeeded"/>
                    <span>{member}<span class="l2">{held}</span></span>
                </li>
                <li data-state="denied">
                    <span class="t">"3"</span><Glyph name="denied"/>
                    <span>{action}<span class="l2">{needed}</span></span>
                </li>
            </ol>
        </Card>
    }
    .into_any()
}

/// There is no such thing, or not for this person.
pub fn not_found(viewer: &Viewer, what: &str) -> AnyView {
    page::set_status(404);
    let slug = viewer.workspace.slug.clone();
    let search = paths::search(&slug);
    view! {
        <Page
            heading=format!("There is no such {what} here") title="Not found"
            sub="The address may be mistyped, what it led to may be gone, or it is not for you to see."
        >
            <div class="stack help-page">
                <form class="filterbox" role="search" method="get" action=search aria-label="Search everywhere">
                    <Icon name="search"/>
                    <input
                        type="search" name="q" aria-label="Search everywhere" placeholder="Search pages and people"
                        autocomplete="off"
                    />
                    <button class="btn sm" type="submit">"Search"</button>
                </form>
                <div class="cols-3">
                    <WayOut href=paths::home(&slug) icon="home" label="Home" help="Where everything starts."/>
                    <WayOut
                        href=paths::compute(&slug, "instances") icon="compute" label="Compute"
                        help="Instances, clusters and attached machines."
                    />
                    <WayOut
                        href=paths::activity(&slug) icon="audit" label="Activity"
                        help="What happened, and who did it: renamed and removed things are told here."
                    />
                </div>
                <p class="faint xs mono">{format!("not-found · request {}", page::request_id())}</p>
            </div>
        </Page>
    }
    .into_any()
}

/// The request itself makes no sense here.
fn wrong_request(viewer: &Viewer, error: &AppError) -> AnyView {
    let code = format!("request {}", page::request_id());
    let reason = error.to_string();
    let home = paths::home(&viewer.workspace.slug);
    view! {
        <Page heading="This page cannot be shown" title="Not possible" sub="Nothing was changed.">
            <Why tone=Tone::Warning title="The server refused the request" text=reason code=code alert=true>
                <LinkButton href=home icon="home">"Go to Home"</LinkButton>
            </Why>
        </Page>
    }
    .into_any()
}

/// Something broke on the server.
fn broken(viewer: &Viewer, request: &str) -> AnyView {
    let text = "Nothing was changed. Try again in a moment. If it happens again, tell an administrator the request id: \
                the server's log has the rest under it.";
    let home = paths::home(&viewer.workspace.slug);
    let code = format!("internal · request {request}");
    view! {
        <Page heading="The server could not make this page" title="Server failure">
            <Why tone=Tone::Failed title="Something broke on the server" text=text code=code alert=true>
                <LinkButton href="" look=Look::Primary icon="restart">"Try again"</LinkButton>
                <LinkButton href=home icon="home">"Go to Home"</LinkButton>
            </Why>
        </Page>
    }
    .into_any()
}
