//! The card that switches SSH and says how to connect; for the instance's owner.

use atelier_domain::paths;
use atelier_studio::instances::detail::InstanceDetail;
use atelier_studio::instances::ssh::SshView;
use leptos::prelude::*;

use crate::components::{Card, CodeBlock, Def, DefList, Look, PostForm, SubmitButton, ago};
use crate::frame::Visit;

/// The card; nothing for whom it does not concern.
pub fn card(visit: &Visit, detail: &InstanceDetail, ssh: Option<&SshView>) -> Option<AnyView> {
    let ssh = ssh?;
    let form = visit.form("switch_ssh");
    let refusal = form.refusal().map(|reason| view! { <p class="err" role="alert">{reason}</p> });
    let name = detail.view.name.clone();
    let is_on = ssh.since.is_some();
    let note = if is_on { "on" } else { "off" };
    let inside = match (&ssh.directions, ssh.since) {
        (None, _) => html! {
            <p class="muted">"This server takes no SSH connections: an administrator has to set ssh_listen."</p>
        },
        (Some(_), None) => html! {
            <p class="muted">
                "Enter this instance from a terminal or from an editor on your own machine, with a key of yours. \
                 Nobody else can."
            </p>
        },
        (Some(directions), Some(since)) => {
            let since = ago(&visit.viewer, since);
            let keys = (ssh.keys == 0).then(|| {
                view! {
                    <p class="err" role="status">
                        "You have no key yet. "
                        <a href=paths::PROFILE>"Add one in your profile"</a>
                        "."
                    </p>
                }
            });
            let open = atelier_domain::text::counted(ssh.open, "connection", "connections");
            let (command, snippet) = (directions.command(&name), directions.snippet(&name));
            let fingerprint = directions.fingerprint.clone();
            html! {
                {keys}
                <DefList>
                    <Def term="Open now">{open}</Def>
                    <Def term="On since">{since}</Def>
                    <Def term="The server’s key"><code class="wrap">{fingerprint}</code></Def>
                </DefList>
                <CodeBlock text=command label="Terminal"/>
                <details class="more">
                    <summary>"For VS Code and other editors"</summary>
                    <p class="help">
                        "Put this into ~/.ssh/config. Then the instance has its name there: in Remote-SSH, in scp and \
                         sftp."
                    </p>
                    <CodeBlock text=snippet label="~/.ssh/config"/>
                </details>
            }
        }
    };
    let can_switch = is_on || ssh.directions.is_some();
    let switch = can_switch.then(|| {
        let hidden = vec![("instance", name), ("is_on", if is_on { "off" } else { "on" }.to_owned())];
        let (word, pending) =
            if is_on { ("Switch SSH off", "Switching off…") } else { ("Switch SSH on", "Switching on…") };
        view! {
            <PostForm function="switch_ssh" hidden=hidden>
                <SubmitButton look=Look::Plain small=true pending=pending>{word}</SubmitButton>
            </PostForm>
        }
    });
    let card = view! {
        <Card heading="SSH" note=note><div class="stack-s">{refusal}{inside}{switch}</div></Card>
    };
    Some(card.into_any())
}
