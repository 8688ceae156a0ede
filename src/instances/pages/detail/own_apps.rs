//! The applications of an instance one by one: how each does, and the form with which its owner adds, changes
//! and removes some.

use atelier_domain::access::Action;
use atelier_domain::compute::app::{AppDraft, CustomApp, MAX_APPS, MAX_LABEL, Network, Preset};
use atelier_domain::paths;
use atelier_studio::instances::apps::{AppLook, AppView};
use atelier_studio::instances::commands::TERMINAL;
use atelier_studio::instances::detail::InstanceDetail;
use leptos::prelude::*;

use crate::components::{
    Card, Choice, ChoiceKind, ChoiceList, Field, Icon, LinkButton, Look, PostForm, Query, SubmitButton, TableWrap,
    TextField, Tone, Why, heads,
};
use crate::form::FormState;
use crate::frame::Visit;

const FORM: &str = "put_app";

pub fn tab(visit: &Visit, query: &Query, detail: &InstanceDetail) -> AnyView {
    let denied = visit.viewer.rights.check(Action::InstanceConnect, detail.view.whose).err();
    let is_owner = denied.is_none() && detail.view.is_own();
    let rows: Vec<_> = detail.apps.iter().map(|app| row(visit, detail, app, is_owner)).collect();
    let exposed = exposed(detail);
    let form = if is_owner {
        form(visit, query, detail)
    } else {
        let words = format!(
            "Applications run as {}, with what is in their home. Nobody else adds, changes or opens them.",
            detail.view.owner_name
        );
        html! { <Card heading="Add an application"><p class="muted">{words}</p></Card> }
    };
    let heads = heads(&[("Application", ""), ("How it does", ""), ("Command", ""), ("Actions", "sr")]);
    let every = detail.apps.iter().any(|app| app.look == AppLook::Starting).then_some("2");
    html! {
        <div class="stack">
            <div class="stack" data-live="own-apps" data-every=every>
                {exposed}
                <TableWrap scrolls="Applications">
                    <table class="table">
                        <caption class="sr">"Applications"</caption>
                        <thead><tr>{heads}</tr></thead>
                        <tbody>{rows}</tbody>
                    </table>
                </TableWrap>
            </div>
            {form}
        </div>
    }
}

/// That others can reach some, in words that cannot be overlooked.
fn exposed(detail: &InstanceDetail) -> AnyView {
    let names: Vec<&str> = detail.apps.iter().filter(|app| app.is_exposed).map(|app| app.label.as_str()).collect();
    if names.is_empty() {
        return ().into_any();
    }
    let names = atelier_domain::text::and_list(&names);
    let title = format!("Other people of this machine can reach {names}");
    let text = "Its port is in the network of the machine, so any program there can connect to it, and what listens on \
                that port may be somebody else's. Use a password in the application itself, its socket, or a private \
                network on a server that runs as root with bubblewrap.";
    html! { <Why tone=Tone::Warning title=title text=text/> }
}

fn row(visit: &Visit, detail: &InstanceDetail, app: &AppView, is_owner: bool) -> AnyView {
    let (slug, name) = (visit.slug(), &detail.view.name);
    let custom = detail.own_apps.iter().find(|known| known.name.as_str() == app.name);
    let label = if is_owner && detail.apps_trouble.is_none() {
        let href = paths::open_app(slug, name, &app.name, &app.page);
        html! { <a href=href target="_blank" rel="noopener">{app.label.clone()}</a> }
    } else {
        html! { <b>{app.label.clone()}</b> }
    };
    let state = app.look.state();
    let command = match custom {
        Some(custom) => {
            let (command, listens) = (custom.draft.command.clone(), listens(custom));
            html! { <code class="command">{command}</code><br/><small class="muted">{listens}</small> }
        }
        None if app.is_custom => html! { <span class="muted">"Its owner's"</span> },
        None => html! { <span class="muted">"Part of Atelier"</span> },
    };
    let actions = is_owner.then(|| actions(visit, detail, app));
    let icon = app.icon;
    html! {
        <tr data-key=app.name.clone()>
            <th scope="row">
                <span class="row-tight"><Icon name=icon/>{label}</span>
                <small class="muted mono">{app.name.clone()}</small>
            </th>
            <td><span class="next" data-state=state>{app.said.clone()}</span></td>
            <td>{command}</td>
            <td class="actions">{actions}</td>
        </tr>
    }
}

fn listens(app: &CustomApp) -> String {
    match (app.draft.port, app.draft.network) {
        (None, _) => "on its socket".to_owned(),
        (Some(port), Network::Private) => format!("on port {port}, private network"),
        (Some(port), Network::Open) => format!("on port {port}, open network"),
    }
}

fn actions(visit: &Visit, detail: &InstanceDetail, app: &AppView) -> AnyView {
    let (slug, name) = (visit.slug(), &detail.view.name);
    let hidden = || vec![("instance", name.clone()), ("app", app.name.clone())];
    let restart = (app.name != TERMINAL).then(|| {
        let because = detail.view.instance.node.is_none().then(|| format!("{name} does not run."));
        let label = format!("Restart {}", app.label);
        view! {
            <PostForm function="restart_app" hidden=hidden() class="inline-form">
                <SubmitButton look=Look::Ghost icon="restart" label=label pending="…" disabled_because=because>
                    "Restart"
                </SubmitButton>
            </PostForm>
        }
    });
    let own = app.is_custom.then(|| {
        let edit = format!("{}?edit={}#app", paths::instance_tab(slug, name, "apps"), app.name);
        let label = format!("Remove {}", app.label);
        view! {
            <LinkButton href=edit look=Look::Ghost icon="pencil">"Change"</LinkButton>
            <PostForm function="remove_app" hidden=hidden() class="inline-form">
                <SubmitButton look=Look::DangerQuiet icon="trash" label=label pending="…">"Remove"</SubmitButton>
            </PostForm>
        }
    });
    html! { <span class="row-tight">{restart}{own}</span> }
}

/// The form: for one that the address names, else for a new one of the preset that it names.
fn form(visit: &Visit, query: &Query, detail: &InstanceDetail) -> AnyView {
    let state = visit.form(FORM);
    let edited = match state.value("replaces", query.get("edit")) {
        name if name.is_empty() => None,
        name => detail.own_apps.iter().find(|app| app.name.as_str() == name),
    };
    if edited.is_none() && detail.own_apps.len() >= MAX_APPS {
        let words = format!("An instance has at most {MAX_APPS} applications of its own. Remove one to add another.");
        return html! { <Card heading="Add an application"><p class="muted">{words}</p></Card> };
    }
    let preset = Preset::parse(&state.value("preset", query.get("preset"))).unwrap_or_default();
    let draft = edited.map_or_else(|| preset.draft(), |app| app.draft.clone());
    let heading = match edited {
        Some(app) => format!("Change {}", app.label()),
        None => "Add an application".to_owned(),
    };
    let presets = edited.is_none().then(|| presets(visit, detail, preset));
    let fields = fields(&state, &draft, edited);
    let hidden = vec![
        ("instance", detail.view.name.clone()),
        ("replaces", edited.map(|app| app.name.to_string()).unwrap_or_default()),
        ("preset", draft.preset.key().to_owned()),
    ];
    let cancel = edited.map(|_| {
        let back = paths::instance_tab(visit.slug(), &detail.view.name, "apps");
        view! { <LinkButton href=back look=Look::Ghost>"Cancel"</LinkButton> }
    });
    let verb = if edited.is_some() { "Save application" } else { "Add application" };
    html! {
        <section id="app">
            <Card heading=heading>
                {presets}
                <PostForm function=FORM state=state hidden=hidden>
                    {fields}
                    <div class="row">
                        <SubmitButton icon="check" pending="Saving…">{verb}</SubmitButton>
                        {cancel}
                    </div>
                </PostForm>
            </Card>
        </section>
    }
}

fn presets(visit: &Visit, detail: &InstanceDetail, chosen: Preset) -> AnyView {
    let links: Vec<_> = Preset::ALL
        .into_iter()
        .map(|preset| {
            let tab = paths::instance_tab(visit.slug(), &detail.view.name, "apps");
            let href = format!("{tab}?preset={}#app", preset.key());
            let current = (preset == chosen).then_some("true");
            let class = if preset == chosen { "btn sm primary" } else { "btn sm" };
            view! { <a class=class href=href aria-current=current>{preset.label()}</a> }
        })
        .collect();
    let help = match chosen.package() {
        Some(package) => format!(
            "{} It needs the package {package}: run “pip install {package}” in a terminal of the instance once.",
            chosen.sentence()
        ),
        None => chosen.sentence().to_owned(),
    };
    html! {
        <nav class="row" aria-label="Presets">{links}</nav>
        <p class="muted">{help}</p>
    }
}

/// One of several ways, ticked if it is the chosen one.
pub fn choice(value: &str, label: &str, help: &str, chosen: &str) -> Choice {
    let ticked = value == chosen;
    Choice { value: value.into(), label: label.into(), help: help.into(), ticked, fixed_because: None }
}

fn fields(state: &FormState, draft: &AppDraft, edited: Option<&CustomApp>) -> AnyView {
    let listens = state.value("listens", if draft.port.is_some() || edited.is_none() { "port" } else { "socket" });
    let network = state.value("network", draft.network.key());
    let variables: Vec<String> = draft.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let port = draft.port.map(|port| port.to_string()).unwrap_or_default();
    let ways = vec![
        choice(
            "port",
            "A port of 127.0.0.1",
            "{port} in the command, and PORT in its environment, are the port.",
            &listens,
        ),
        choice(
            "socket",
            "A socket of the file system",
            "{socket} in the command, and ATELIER_APP_SOCKET, are its path.",
            &listens,
        ),
    ];
    let networks = vec![
        choice(
            Network::Private.key(),
            "Private",
            "Nobody else on the machine reaches its port. It reaches the other private applications of this instance, \
             and not the internet.",
            &network,
        ),
        choice(
            Network::Open.key(),
            "Open",
            "It has the network of the machine, and other people of the machine can reach its port.",
            &network,
        ),
    ];
    html! {
        <Field
            form=state label="Name" name="name" value=&draft.name required=true maxlength=16_u32 autocomplete="off"
            help="3 to 16 of a–z, 0–9 and -. It is part of the application's address."
        />
        <Field
            form=state label="Name for people" name="label" value=&draft.label maxlength=MAX_LABEL as u32
            autocomplete="off"
        />
        <Field
            form=state label="Command" name="command" value=&draft.command required=true autocomplete="off"
            placeholder="python -m http.server {port} --bind 127.0.0.1"
            help="A program and its arguments; no shell reads them. {home} is the home folder."
        />
        <ChoiceList
            legend="It listens on" name="listens" kind=ChoiceKind::One choices=ways problem=state.problem("listens")
        />
        <Field
            form=state label="Port" name="port" kind="number" value=&port
            help="From 1025 to 65534; left out for a socket."
        />
        <ChoiceList
            legend="Network of the port" name="network" kind=ChoiceKind::One choices=networks
            problem=state.problem("network")
        />
        <TextField
            form=state label="Variables" name="environment" value=&variables.join("\n") rows=3
            help="One a line, such as MODE=production. Only you see them."
        />
        <Field
            form=state label="Address that says whether it is ready" name="health" value=&draft.health
            autocomplete="off"
            help="Asked until it answers, whatever the answer, unless that is a failure of the application."
        />
        <Field form=state label="Page that opens" name="page" value=&draft.page autocomplete="off"/>
    }
}
