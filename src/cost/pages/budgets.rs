//! Budgets: how much a month may cost, how much of that is spent, and what happens then.

use atelier_domain::access::Action;
use atelier_domain::compute::budget::{BudgetAction, BudgetOf};
use atelier_domain::history::Topic;
use atelier_domain::{Money, paths};
use atelier_engine::run::CommandId;
use atelier_studio::budgets::{BudgetLine, Budgets, read, said_action, typed_amount};
use atelier_studio::clock;
use leptos::prelude::*;

use crate::components::{
    Card, Choice, ChoiceKind, ChoiceList, EmptyState, Field, LinkButton, Look, NavItem, Page, PostForm, Query, SaveRow,
    SelectField, SubmitButton, Tab, Table, Tabs, Tone, Why, WhyField, options,
};
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

/// What may be spent, and what is.
#[component]
pub fn BudgetsPage() -> impl IntoView {
    studio(Place::own(NavItem::Cost, Action::CostRead, &[Topic::Engine, Topic::Warnings]), |visit| {
        let (caller, query) = (here(), Query::here());
        let found = async move {
            let caller = caller?;
            let budgets = read(&caller).await?;
            Ok((budgets, caller.studio.settings().currency.clone()))
        };
        load(visit.viewer.clone(), found, move |(budgets, currency)| Shown { visit, query, budgets, currency }.page())
    })
}

/// What was spent and what may be belong together.
pub(super) fn tabs(visit: &Visit, is_budgets: bool) -> AnyView {
    let slug = visit.slug();
    let tab = |href, label: &str, is_current| Tab { href, label: label.to_owned(), count: None, is_current };
    let tabs = vec![tab(paths::cost(slug), "Spending", !is_budgets), tab(paths::budgets(slug), "Budgets", is_budgets)];
    html! { <Tabs label="Cost" tabs=tabs/> }
}

struct Shown {
    visit: Visit,
    query: Query,
    budgets: Budgets,
    currency: String,
}

impl Shown {
    fn page(&self) -> AnyView {
        let because = self.visit.viewer.refusal(Action::BudgetWrite);
        let may = because.is_none();
        let refused = self.visit.refused(&["lift_budget"]);
        let workspace = match &self.budgets.workspace {
            Some(line) => self.table("Budget of the workspace", std::slice::from_ref(line), may),
            None => html! {
                <EmptyState
                    art=false heading="The workspace has no budget"
                    text="With one, everybody is told when half, four fifths and all of it are spent, and new work can \
                          be refused then."
                />
            },
        };
        let people = if self.budgets.people.is_empty() {
            let (heading, text) = if self.budgets.are_all {
                (
                    "Nobody has a budget of their own",
                    "A person’s budget counts beside the workspace’s: whichever is spent first.",
                )
            } else {
                ("You have no budget of your own", "What you spend counts for the workspace’s.")
            };
            html! { <EmptyState art=false heading=heading text=text/> }
        } else {
            self.table("Budgets of people", &self.budgets.people, may)
        };
        let own_only = (!self.budgets.are_all).then(|| {
            view! {
                <Why
                    tone=Tone::Neutral title="Only what concerns you"
                    text="You see the workspace’s budget and your own."
                />
            }
        });
        let (tabs, form) = (tabs(&self.visit, true), self.form(because));
        html! {
            <Page
                heading="Budgets"
                sub="How much a calendar month may cost. What runs goes on; what happens to new and to idle work is \
                     set with the budget."
            >
                {tabs}
                {refused}
                <div class="stack">
                    {own_only}
                    <div data-live="workspace-budget">
                        <Card heading="Workspace" note="all together" flush=true>{workspace}</Card>
                    </div>
                    <div data-live="people-budgets"><Card heading="People" flush=true>{people}</Card></div>
                    {form}
                </div>
            </Page>
        }
    }

    fn table(&self, caption: &'static str, lines: &[BudgetLine], may: bool) -> AnyView {
        let rows: Vec<_> = lines.iter().map(|line| self.row(line, may)).collect();
        let actions = may.then(|| view! { <th scope="col"><span class="sr">"Actions"</span></th> });
        html! {
            <Table
                class="table budgets" caption=caption rows=rows
                head=view! {
                    <th scope="col">"Whose"</th>
                    <th scope="col">"Spent this month"</th>
                    <th scope="col" class="right">"Budget"</th>
                    <th scope="col">"When it is spent"</th>
                    <th scope="col">"At this rate"</th>
                    {actions}
                }
            />
        }
    }

    fn row(&self, line: &BudgetLine, may: bool) -> AnyView {
        let (budget, standing) = (&line.budget, &line.standing);
        let name = match &line.of {
            BudgetOf::Workspace => {
                html! { <span class="name">{self.visit.viewer.workspace.name.clone()}</span> }
            }
            BudgetOf::Person(id) => {
                let href = paths::person(self.visit.slug(), id.as_str());
                html! { <a class="name" href=href>{line.name.clone()}</a> }
            }
        };
        let percent = standing.percent(budget);
        let spent = Money(standing.spent).said(&self.currency);
        let amount = Money(budget.amount).said(&self.currency);
        let said = format!("{spent}, {percent} %");
        let label = format!("{spent} of {amount} spent");
        let inside = label.clone();
        let (max, low, high) = (100_000_u64, 50_000_u64, 80_000_u64);
        let value = u128::from(standing.spent) * u128::from(max) / u128::from(budget.amount.max(1));
        let value = value.min(u128::from(max)).to_string();
        let ends = format!("until {}", budget.ends());
        let rate = match (standing.per_hour, standing.spent_at) {
            _ if standing.spent >= budget.amount => "All of it is spent.".to_owned(),
            (0, _) => "Nothing costs anything now.".to_owned(),
            (per_hour, None) => {
                format!("{} an hour now; enough for this month.", Money(per_hour).said(&self.currency))
            }
            (per_hour, Some(at)) => {
                let zone = &self.visit.viewer.time_zone;
                let hour = Money(per_hour).said(&self.currency);
                format!("{hour} an hour now; all spent on {}.", clock::date_and_time(at, zone))
            }
        };
        let actions = may.then(|| self.actions(line));
        html! {
            <tr data-key=key(line)>
                <th scope="row">{name}<span class="l2">{ends}</span></th>
                <td class="meter-cell">
                    <span class="num xs">{said}</span>
                    <meter
                        min="0" max=max.to_string() low=low.to_string() high=high.to_string() optimum="0" value=value
                        aria-label=label
                    >
                        {inside}
                    </meter>
                </td>
                <td class="right nowrap" data-label="Budget"><b>{amount}</b><span class="l2">"a month"</span></td>
                <td class="wide-cell" data-label="When it is spent">{said_action(budget.action)}</td>
                <td class="wide-cell" data-label="At this rate">{rate}</td>
                {actions}
            </tr>
        }
    }

    fn actions(&self, line: &BudgetLine) -> AnyView {
        let (whose, person) = match &line.of {
            BudgetOf::Workspace => ("workspace", String::new()),
            BudgetOf::Person(id) => ("person", id.to_string()),
        };
        let typed = if line.email.is_empty() { person.clone() } else { line.email.clone() };
        let change = Query::of(paths::budgets(self.visit.slug()))
            .with("whose", whose)
            .with("person", &typed)
            .with("amount", &typed_amount(line.budget.amount))
            .with("action", line.budget.action.key())
            .with("time_zone", line.budget.zone.as_str());
        let about = if line.name.is_empty() { "the workspace".to_owned() } else { line.name.clone() };
        let (set, lift) = (format!("Change the budget of {about}"), format!("Take the budget of {about} away"));
        let hidden = vec![
            ("command_id", CommandId::random().as_str().to_owned()),
            ("whose", whose.to_owned()),
            ("person", person),
        ];
        let href = format!("{}#set", change.url());
        html! {
            <td class="right">
                <span class="row-tight">
                    <LinkButton href=href small=true icon="pencil" label=set/>
                    <PostForm function="lift_budget" hidden=hidden class="inline-form">
                        <SubmitButton look=Look::DangerQuiet small=true icon="trash" label=lift/>
                    </PostForm>
                </span>
            </td>
        }
    }

    fn form(&self, because: Option<String>) -> AnyView {
        let state = self.visit.form("set_budget");
        let asked = |field: &str, usual: &str| {
            let asked = self.query.get(field);
            state.value(field, if asked.is_empty() { usual } else { asked })
        };
        let (person, amount) = (asked("person", ""), asked("amount", ""));
        let whose = asked("whose", if person.is_empty() { "workspace" } else { "person" });
        let (action, zone) = (asked("action", "warn"), asked("time_zone", &self.visit.viewer.time_zone));
        let readonly = because.is_some();
        let options = options(&[("workspace", "The whole workspace"), ("person", "One person")]);
        let help = |action: BudgetAction| match action {
            BudgetAction::Warn => "Those concerned are told at 50, 80 and 100 %. Nothing else happens.",
            BudgetAction::Refuse => {
                "Jobs, instances and clusters that would be new, and starts, are refused until the month is over or \
                 the budget is raised. What runs goes on."
            }
            BudgetAction::StopIdle => {
                "The same; and instances that nobody uses stop after 15 minutes, and clusters keep no idle nodes."
            }
        };
        let choices = BudgetAction::ALL
            .into_iter()
            .map(|one| Choice {
                value: one.key().to_owned(),
                label: said_action(one).to_owned(),
                help: help(one).to_owned(),
                ticked: one.key() == action,
                fixed_because: readonly.then(String::new),
            })
            .collect();
        let hidden = vec![("command_id", CommandId::random().as_str().to_owned())];
        let amount_help = format!("In {}, such as 250 or 99.50.", self.currency);
        html! {
            <section id="set">
                <Card heading="Set a budget">
                    <PostForm function="set_budget" state=state.clone() hidden=hidden>
                        <div class="cols-2">
                            <SelectField form=&state label="Whose" name="whose" options=options value=whose/>
                            <Field
                                form=&state label="Person" name="person" value=person readonly=readonly
                                autocomplete="off" help="The e-mail address, for a person’s budget."
                            />
                        </div>
                        <div class="cols-2">
                            <Field
                                form=&state label="Amount a month" name="amount" value=amount required=true
                                readonly=readonly autocomplete="off" help=amount_help
                            />
                            <Field
                                form=&state label="Time zone" name="time_zone" value=zone readonly=readonly
                                autocomplete="off" help="Where its months begin, such as Europe/Berlin."
                            />
                        </div>
                        <ChoiceList
                            legend="When all of it is spent" name="action" kind=ChoiceKind::One choices=choices
                            problem=state.problem("action")
                        />
                        <WhyField state=state readonly=readonly/>
                        <SaveRow label="Set budget" look=Look::Primary disabled_because=because/>
                    </PostForm>
                </Card>
            </section>
        }
    }
}

fn key(line: &BudgetLine) -> String {
    match &line.of {
        BudgetOf::Workspace => "workspace".to_owned(),
        BudgetOf::Person(id) => id.to_string(),
    }
}
