//! Shares: who is meant to have how much of what everybody waits for, and who has had it.

use atelier_domain::access::Action;
use atelier_domain::compute::fair_share::{DEFAULT_WEIGHT, MAX_WEIGHT, QueueOrder};
use atelier_domain::compute::resources::Cores;
use atelier_domain::history::Topic;
use atelier_domain::paths;
use atelier_domain::text::counted;
use atelier_engine::run::CommandId;
use atelier_studio::fair_shares::{ShareLine, Shares, read, typed_half_life};
use leptos::prelude::*;

use crate::components::{
    Card, Checkbox, Choice, ChoiceKind, ChoiceList, EmptyState, Field, FilterBar, LinkButton, Look, NavItem, Page,
    PostForm, Query, SaveRow, Tab, Table, Tabs, WhyField,
};
use crate::form::FormState;
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

/// Who is meant to have how much, and who has had it.
#[component]
pub fn SharesPage() -> impl IntoView {
    studio(Place::of(NavItem::Quota, Action::ClusterRead, &[Topic::Engine, Topic::Jobs, Topic::Clusters]), |visit| {
        let (caller, query) = (here(), Query::here());
        let part = query.get("q").to_owned();
        let found = async move { read(&caller?, &part).await };
        load(visit.viewer.clone(), found, move |shares| show(&visit, &query, &shares))
    })
}

/// Limits and shares belong together.
pub(super) fn tabs(visit: &Visit, is_shares: bool) -> AnyView {
    let slug = visit.slug();
    let tab = |href, label: &str, is_current| Tab { href, label: label.to_owned(), count: None, is_current };
    let tabs = vec![tab(paths::quota(slug), "Limits", !is_shares), tab(paths::shares(slug), "Fair shares", is_shares)];
    html! { <Tabs label="Quota" tabs=tabs/> }
}

fn show(visit: &Visit, query: &Query, shares: &Shares) -> AnyView {
    let because = visit.viewer.refusal(Action::QuotaWrite);
    let table = if shares.people.is_empty() {
        html! { <EmptyState art=false heading="Nobody fits this filter" text="It looks at names and addresses."/> }
    } else {
        table(visit, shares, because.is_none())
    };
    let more = (shares.more > 0).then(|| {
        let text = format!(
            "{} not shown; filter by name to find them.",
            counted(shares.more as u64, "person is", "people are")
        );
        view! { <p class="table-foot">{text}</p> }
    });
    let tabs = tabs(visit, true);
    let note = format!("what was used {} ago counts half", shares.half_life);
    let (weight, half_life) = (weight(visit, query, because.clone()), half_life(visit, shares, because));
    let (serverless, query) = (serverless(visit, shares), query.clone());
    html! {
        <Page
            heading="Fair shares"
            sub="Where a queue is served by fair share, whoever has used least for their weight goes first. A weight \
                 is no limit: what nobody else wants can be used by anybody."
        >
            {tabs}
            <div class="stack">
                <div class="people-quota">
                    <FilterBar query=query label="Filter people" placeholder="Filter people by name or address"/>
                    <div data-live="shares"><Card heading="People" note=note flush=true>{table}{more}</Card></div>
                </div>
                <div class="cols-2 shares-forms">{weight}{half_life}</div>
                {serverless}
            </div>
        </Page>
    }
}

fn table(visit: &Visit, shares: &Shares, may: bool) -> AnyView {
    let rows: Vec<_> = shares.people.iter().map(|line| row(visit, line, may)).collect();
    let actions = may.then(|| view! { <th scope="col"><span class="sr">"Actions"</span></th> });
    html! {
        <Table
            class="table shares" caption="Shares of people" rows=rows
            head=view! {
                <th scope="col">"Person"</th>
                <th scope="col" class="right">"Weight"</th>
                <th scope="col">"Used of all"</th>
                <th scope="col" class="right">"Used lately"</th>
                <th scope="col" class="right">"Running now"</th>
                {actions}
            }
        />
    }
}

fn row(visit: &Visit, line: &ShareLine, may: bool) -> AnyView {
    let used = format!("{} core-h", tenths(line.used));
    let part = match (line.part, line.meant) {
        (Some(part), Some(meant)) => {
            let said = format!("{} of {} meant", percent(part), percent(meant));
            let label = format!("{} has used {said} to have", line.name);
            html! {
                <span class="num xs">{said}</span>
                <meter min="0" max="1000" optimum="0" value=part.to_string() aria-label=label></meter>
            }
        }
        (None, Some(meant)) => {
            html! { <span class="num xs faint">{format!("{} meant", percent(meant))}</span> }
        }
        _ => html! { <span class="faint">"no jobs lately"</span> },
    };
    let running = match line.running.jobs {
        0 => html! { <span class="faint">"nothing"</span> },
        jobs => {
            let gpus = match line.running.shape.gpus {
                0 => String::new(),
                gpus => format!(", {}", counted(gpus, "GPU", "GPUs")),
            };
            let said = format!("{}{gpus}", Cores(line.running.shape.cores));
            html! { {counted(jobs, "job", "jobs")}<span class="l2">{said}</span> }
        }
    };
    let weight = if line.weight == DEFAULT_WEIGHT {
        html! { {line.weight.to_string()}<span class="l2">"the usual"</span> }
    } else {
        html! { <b>{line.weight.to_string()}</b> }
    };
    let set = may.then(|| {
        let query =
            Query::of(paths::shares(visit.slug())).with("person", &line.email).with("weight", &line.weight.to_string());
        let (href, label) = (format!("{}#set", query.url()), format!("Set the weight of {}", line.name));
        view! { <td class="right"><LinkButton href=href small=true icon="pencil" label=label/></td> }
    });
    let href = paths::person(visit.slug(), line.person.as_str());
    html! {
        <tr data-key=line.person.to_string()>
            <th scope="row">
                <a class="name" href=href>{line.name.clone()}</a>
                <span class="l2">{line.email.clone()}</span>
            </th>
            <td class="right nowrap" data-label="Weight">{weight}</td>
            <td class="meter-cell">{part}</td>
            <td class="right nowrap" data-label="Used lately">{used}</td>
            <td class="right nowrap" data-label="Running">{running}</td>
            {set}
        </tr>
    }
}

fn weight(visit: &Visit, query: &Query, because: Option<String>) -> AnyView {
    let state = visit.form("set_share");
    let asked = |field: &str| state.value(field, query.get(field));
    let (person, weight) = (asked("person"), asked("weight"));
    let hidden = vec![("command_id", CommandId::random().as_str().to_owned())];
    let readonly = because.is_some();
    let help =
        format!("1 to {MAX_WEIGHT}; {DEFAULT_WEIGHT} is usual. Twice the weight means twice as much when both wait.");
    html! {
        <section id="set">
            <Card heading="Set a weight">
                <PostForm function="set_share" state=state.clone() hidden=hidden>
                    <Field
                        form=&state label="Person" name="person" value=person readonly=readonly required=true
                        autocomplete="off" help="The e-mail address."
                    />
                    <Field
                        form=&state label="Weight" name="weight" value=weight readonly=readonly required=true
                        autocomplete="off" help=help
                    />
                    <WhyField state=state readonly=readonly/>
                    <SaveRow label="Set weight" look=Look::Primary disabled_because=because/>
                </PostForm>
            </Card>
        </section>
    }
}

fn half_life(visit: &Visit, shares: &Shares, because: Option<String>) -> AnyView {
    let state = visit.form("set_half_life");
    let hidden = vec![("command_id", CommandId::random().as_str().to_owned())];
    let typed = state.value("half_life", &typed_half_life(shares.half_life));
    let readonly = because.is_some();
    html! {
        <Card heading="Half-life">
            <PostForm function="set_half_life" state=state.clone() hidden=hidden>
                <Field
                    form=&state label="Use counts half after" name="half_life" value=typed readonly=readonly
                    required=true autocomplete="off" help="Hours, or such as 7 days; 1 h to 365 days."
                />
                <p class="help">
                    "Short: who used much yesterday is soon forgiven. Long: it evens out over weeks. What counts now \
                     counts the same after a change."
                </p>
                <SaveRow label="Save half-life" disabled_because=because/>
            </PostForm>
        </Card>
    }
}

fn serverless(visit: &Visit, shares: &Shares) -> AnyView {
    let because = visit.viewer.refusal(Action::ClusterScale);
    let state = visit.form("set_queue_policy");
    let hidden = vec![("command_id", CommandId::random().as_str().to_owned())];
    let policy = policy_fields(&state, shares.serverless, because.is_some());
    html! {
        <Card heading="Queue of serverless jobs" note="each cluster has its own, on its page">
            <PostForm function="set_queue_policy" state=state.clone() hidden=hidden>
                {policy}
                <SaveRow label="Save queue" disabled_because=because/>
            </PostForm>
        </Card>
    }
}

/// The two choices about a queue.
pub fn policy_fields(
    state: &FormState,
    present: atelier_domain::compute::fair_share::QueuePolicy,
    is_fixed: bool,
) -> AnyView {
    let typed = state.value("order", present.order.key());
    let choice = |order: QueueOrder, label: &str, help: &str| Choice {
        value: order.key().to_owned(),
        label: label.to_owned(),
        help: help.to_owned(),
        ticked: typed == order.key(),
        fixed_because: is_fixed.then(String::new),
    };
    let choices = vec![
        choice(QueueOrder::FairShare, "Fair share", "Who has used least for their weight goes first."),
        choice(QueueOrder::Fifo, "By arrival", "Who came first goes first, whatever they have used."),
    ];
    let backfill = if is_fixed {
        let said = if present.backfill { "Small jobs may pass the first." } else { "Nobody passes the first." };
        html! { <p class="help">{said}</p> }
    } else {
        html! {
            <Checkbox
                name="backfill" label="Backfill: small jobs may pass"
                ticked=state.is_ticked("backfill", "on", present.backfill)
                help="Only where that surely does not delay the first in the queue: their time limit ends before its \
                      nodes are free. Jobs without a time limit never pass."
            />
        }
    };
    html! {
        <ChoiceList
            legend="Who goes first, within one priority" name="order" kind=ChoiceKind::One choices=choices
            problem=state.problem("order")
        />
        {backfill}
    }
}

fn tenths(count: u64) -> String {
    format!("{}.{}", count / 10, count % 10)
}

/// Thousandths as people say them.
fn percent(thousandths: u64) -> String {
    if thousandths >= 100 || thousandths == 0 {
        format!("{} %", (thousandths + 5) / 10)
    } else {
        format!("{}.{} %", thousandths / 10, thousandths % 10)
    }
}
