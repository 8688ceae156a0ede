//! The pages before one is in: set-up, sign-in, and the password that replaces a temporary one.

use atelier_domain::password::MIN_LENGTH;
use atelier_domain::paths;
use leptos::prelude::*;

use crate::components::{BareShell, Checkbox, CodeBlock, Field, Look, PostForm, SelectField, SubmitButton, Tone, Why};
use crate::form::FormState;
use crate::server::page;

/// What helps to choose a password, in one sentence.
pub fn password_help() -> String {
    format!("At least {MIN_LENGTH} characters. Three or four unrelated words are easy to remember and hard to guess.")
}

/// The time zones to choose from, with an entry for "none yet" where nothing is chosen.
pub fn zone_options(chosen: &str) -> Vec<(String, String)> {
    let none = chosen.is_empty().then(|| (String::new(), "Choose a time zone".to_owned()));
    let zones = atelier_domain::zone::choices().into_iter().map(|zone| {
        let words = zone.replace('_', " ");
        (zone, words)
    });
    none.into_iter().chain(zones).collect()
}

/// Makes the first account and the workspace, for a person who can read the server's log.
#[component]
pub fn SetUpPage() -> impl IntoView {
    let flash = page::flash();
    let state = FormState::of(flash.as_ref(), "set_up");
    let zone = state.value("time_zone", "");
    view! {
        <BareShell
            heading="Set up Atelier" flash=flash
            sub="This server has no account yet. Make the first one: it will be the Owner and can add everybody else."
        >
            <PostForm function="set_up" state=state.clone()>
                <Field
                    form=&state label="Set-up code" name="code" required=true autofocus=true
                    autocomplete="one-time-code" large=true
                    help="Printed in the server’s log at start. It proves that you run this server, so that nobody \
                          else can take it."
                />
                <Field
                    form=&state label="Workspace" name="workspace" required=true maxlength=40_u32
                    placeholder="Perception" autocomplete="off" large=true
                    help="Your team or project. People, computes and cost belong to it."
                />
                <Field
                    form=&state label="Your name" name="name" required=true maxlength=80_u32 autocomplete="name"
                    large=true
                />
                <Field
                    form=&state label="E-mail" name="email" kind="email" required=true autocomplete="username"
                    large=true help="You sign in with it."
                />
                <Field
                    form=&state label="Password" name="password" kind="password" required=true
                    autocomplete="new-password" check="password" large=true help=password_help()
                />
                <SelectField
                    form=&state label="Time zone" name="time_zone" options=zone_options(&zone) value=zone.clone()
                    propose="time-zone" large=true help="Schedules and times are shown in it."
                />
                <SubmitButton large=true block=true pending="Setting up…">"Create the workspace"</SubmitButton>
            </PostForm>
            <details class="more">
                <summary>"Where is the set-up code?"</summary>
                <p>
                    "In the terminal where the server runs, or in its log, in the line that says “nobody has an \
                     account yet”. With systemd:"
                </p>
                <CodeBlock label="Command line" text="journalctl -u atelier | grep 'set-up code'"/>
                <p>"A restart prints a new one."</p>
            </details>
        </BareShell>
    }
}

/// Sign-in by e-mail and password.
#[component]
pub fn SignInPage() -> impl IntoView {
    let flash = page::flash();
    let state = FormState::of(flash.as_ref(), "sign_in");
    let place = page::workspace_name().map(|name| format!("to {name}")).unwrap_or_default();
    let next = state.value("next", &page::query("next").unwrap_or_default());
    view! {
        <BareShell heading="Sign in" sub=place flash=flash>
            <PostForm function="sign_in" state=state.clone() hidden=vec![("next", next)]>
                <Field
                    form=&state label="E-mail" name="email" kind="email" required=true
                    autofocus=state.problem("password").is_none() autocomplete="username" large=true
                />
                <Field
                    form=&state label="Password" name="password" kind="password" required=true
                    autocomplete="current-password" large=true
                />
                <Checkbox
                    name="keep" label="Keep me signed in" ticked=state.is_ticked("keep", "on", false)
                    help="On this browser, until the session ends by itself. Leave it out on a machine that others use."
                />
                <SubmitButton large=true block=true pending="Signing in…">"Sign in"</SubmitButton>
            </PostForm>
            <details class="more">
                <summary>"Forgot your password?"</summary>
                <p>
                    "Ask an Owner of your workspace. They reset it under Admin → People and give you a temporary one."
                </p>
                <p>"If no Owner can sign in, somebody with access to the server runs:"</p>
                <CodeBlock label="Command line, on the server" text="atelier user reset-password EMAIL"/>
            </details>
        </BareShell>
    }
}

/// Replaces a temporary password, before anything else can be done.
#[component]
pub fn NewPasswordPage() -> impl IntoView {
    let flash = page::flash();
    let Some(viewer) = page::viewer() else {
        page::redirect(paths::SIGN_IN);
        return ().into_any();
    };
    let state = FormState::of(flash.as_ref(), "change_password");
    let zone = state.value("time_zone", "");
    html! {
        <BareShell heading="Choose your password" sub=format!("Signed in as {}.", viewer.email) flash=flash>
            <Why
                tone=Tone::Neutral title="Your password is temporary"
                text="Somebody else made it and may know it. Choose your own to go on."
            />
            <PostForm function="change_password" state=state.clone()>
                <Field
                    form=&state label="Temporary password" name="current" kind="password" required=true autofocus=true
                    autocomplete="current-password" large=true
                />
                <Field
                    form=&state label="New password" name="password" kind="password" email=viewer.email.clone()
                    required=true autocomplete="new-password" check="password" large=true help=password_help()
                />
                <SelectField
                    form=&state label="Time zone" name="time_zone" options=zone_options(&zone) value=zone.clone()
                    propose="time-zone" large=true help="Times are shown in it."
                />
                <SubmitButton large=true block=true pending="Saving…">"Save password"</SubmitButton>
            </PostForm>
            <form method="post" action=paths::function("sign_out")>
                <SubmitButton look=Look::Ghost block=true>"Sign out"</SubmitButton>
            </form>
        </BareShell>
    }
}
