//! What happens next, with what one can do about it: an hour more, until a time, leave it out.

use atelier_domain::compute::notice::StopWhy;
use atelier_domain::compute::verb::Verb;
use atelier_domain::paths;
use atelier_domain::time::Span;
use atelier_studio::clock;
use atelier_studio::instances::detail::InstanceDetail;
use leptos::prelude::*;

use crate::components::{Icon, PostForm};
use crate::frame::Visit;
use crate::instances::pages::detail::parts::words;

pub fn chip(visit: &Visit, detail: &InstanceDetail) -> AnyView {
    let row = &detail.view;
    let words = words(&row.next);
    let can_extend = row.judge(&visit.viewer.rights, Verb::ExtendInstance).is_ok();
    let buttons = can_extend.then(|| buttons(visit, detail));
    let state = row.next.is_warning.then_some("warning");
    let zone = (row.next.pieces.len() > 1).then(|| {
        view! { <span class="faint xs">{visit.viewer.time_zone.replace('_', " ")}</span> }
    });
    let edit = paths::instance_schedules(visit.slug(), &row.name);
    html! {
        <div class="sched-chip" data-state=state>
            <span class="txt"><Icon name=row.next.icon/><span>{words}</span>{zone}</span>
            {buttons}
            <a class="edit" href=edit>"Schedules"</a>
        </div>
    }
}

fn buttons(visit: &Visit, detail: &InstanceDetail) -> AnyView {
    let (name, plan) = (detail.view.name.clone(), &detail.view.plan);
    let has_stop = plan.stop().is_some() || plan.next.idle.is_some() || detail.watched.policy.is_some();
    if !has_stop {
        return ().into_any();
    }
    let hidden = || vec![("instance", name.clone())];
    let mut hour = hidden();
    hour.push(("hours", "1".to_owned()));
    let can_skip = plan.stop().is_some_and(|stop| stop.why != StopWhy::Idle);
    let skip = can_skip.then(|| {
        view! {
            <PostForm function="skip_stop" hidden=hidden() class="inline-form">
                <button type="submit">"Skip this one"</button>
            </PostForm>
        }
    });
    let next = plan.stop().map(|stop| stop.at).or(plan.next.idle).unwrap_or(visit.viewer.now);
    let proposed = clock::typed_local(next.max(visit.viewer.now).plus(Span::hours(2)), &visit.viewer.time_zone);
    let until = view! {
        <PostForm function="keep_instance" hidden=hidden()>
            <div class="field">
                <label for="chip-until">"Keep it running until"</label>
                <input class="input" id="chip-until" name="until" type="datetime-local" value=proposed required/>
            </div>
            <button class="btn primary sm" type="submit">"Keep it running"</button>
        </PostForm>
    };
    html! {
        <PostForm function="extend_instance" hidden=hour class="inline-form">
            <button type="submit" aria-label="+1 h: keep it running one hour longer">"+1 h"</button>
        </PostForm>
        <button type="button" popovertarget="chip-keep">"Keep until…"</button>
        <div class="menu keep-menu" id="chip-keep" popover="auto">{until}</div>
        {skip}
    }
}
