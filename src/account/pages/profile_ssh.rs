//! The card of keys for SSH on the profile page.

use atelier_domain::ssh::{MAX_KEY_TEXT, MAX_NAME};
use atelier_domain::text::counted;
use atelier_engine::store::SshKey;
use atelier_studio::account::ssh_keys::{OwnKeys, own_ssh_keys};
use leptos::prelude::*;

use crate::components::{Card, Field, Look, PostForm, SubmitButton, Table, ago, ago_or, heads};
use crate::form::FormState;
use crate::frame::{Visit, load};
use crate::server::caller::here;
use crate::viewer::Viewer;

/// The keys with their verbs, and the form that adds one.
pub fn keys(visit: &Visit) -> AnyView {
    let (viewer, added, removed) = (visit.viewer.clone(), visit.form("add_ssh_key"), visit.form("remove_ssh_key"));
    load(viewer.clone(), async move { own_ssh_keys(&here()?).await }, move |OwnKeys { keys, directions }| {
        let note = counted(keys.len() as u64, "key", "keys");
        let refusal = removed.refusal().map(|reason| view! { <p class="err" role="alert">{reason}</p> });
        let server = match directions {
            Some(directions) => html! {
                <p class="help">
                    "When you connect for the first time, your client asks whether to trust the server. Its key is "
                    <code class="wrap">{directions.fingerprint}</code>"."
                </p>
            },
            None => html! {
                <p class="help">
                    "This server takes no SSH connections yet: an administrator has to set ssh_listen. Keys can be \
                     added before."
                </p>
            },
        };
        let (list, form) = (list(keys, &viewer), form(added));
        html! {
            <Card heading="SSH keys" note=note flush=true>
                {list}
                <div class="body stack">{refusal}{server}{form}</div>
            </Card>
        }
    })
}

fn list(keys: Vec<SshKey>, viewer: &Viewer) -> Option<AnyView> {
    if keys.is_empty() {
        return None;
    }
    let rows: Vec<_> = keys.into_iter().map(|key| row(key, viewer)).collect();
    let table = view! {
        <Table
            class="table tight" caption="Your SSH keys" rows=rows
            head=heads(&[("Name", ""), ("Added", "c-owner"), ("Last used", ""), ("", "")])
        />
    };
    Some(table.into_any())
}

fn row(key: SshKey, viewer: &Viewer) -> AnyView {
    let used = ago_or(viewer, key.used_at, "never");
    let label = format!("Remove the SSH key {}", key.name);
    let id = key.id.to_string();
    let row_key = id.clone();
    html! {
        <tr data-key=row_key>
            <th scope="row">
                <span class="name">{key.name}</span>
                <span class="l2">{key.kind}" "<code class="wrap">{key.fingerprint}</code></span>
            </th>
            <td class="c-owner">{ago(viewer, key.created_at)}</td>
            <td data-label="Last used">{used}</td>
            <td class="right">
                <PostForm function="remove_ssh_key" class="row-tight" hidden=vec![("key_id", id)]>
                    <SubmitButton look=Look::Plain small=true label=label pending="Removing…">"Remove"</SubmitButton>
                </PostForm>
            </td>
        </tr>
    }
}

fn form(state: FormState) -> AnyView {
    html! {
        <p class="help">
            "With a key you enter those of your instances for which SSH is on: from a terminal, with scp and sftp, or \
             from an editor on your own machine. Removing a key ends the connections that came in with it."
        </p>
        <PostForm function="add_ssh_key" state=state.clone()>
            <Field
                form=&state id="ssh-key" label="Public key" name="key" required=true maxlength=MAX_KEY_TEXT as u32
                autocomplete="off"
                help="The line in ~/.ssh/id_ed25519.pub. If there is none, make one with ssh-keygen -t ed25519."
            />
            <Field
                form=&state id="ssh-key-name" label="Name" name="name" maxlength=MAX_NAME as u32 autocomplete="off"
                help="The machine that it is on, for example. Left empty, it is what stands at the end of the key."
            />
            <div class="row"><SubmitButton look=Look::Plain pending="Adding…">"Add the key"</SubmitButton></div>
        </PostForm>
    }
}
