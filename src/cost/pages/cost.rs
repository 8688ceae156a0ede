//! Cost: the ledger by day, by compute, by person and by job.

use atelier_domain::access::{Action, Whose};
use atelier_domain::compute::size::Price;
use atelier_domain::text::{Problem, and_list, counted, grouped};
use atelier_domain::{Money, paths};
use atelier_studio::cost::days::{By, RANGES, Selection};
use atelier_studio::cost::spent::read;
use atelier_studio::cost::view::{Kind, Rest, Spending, SpendingRow};
use leptos::prelude::*;

use crate::components::{
    BarChart, BarSeries, Card, EmptyState, Field, Icon, NavItem, Page, Query, TableWrap, Tone, Why, heads,
};
use crate::frame::{Place, Visit, load, studio};
use crate::server::caller::here;

/// Rows of the table; all others are one.
const ROWS: usize = 20;

/// The colours of the chart; the last is for all others.
const COLOURS: [&str; 6] = ["s1", "s2", "s3", "s4", "s5", "s7"];

/// What computes, people and jobs cost.
#[component]
pub fn CostPage() -> impl IntoView {
    studio(Place::own(NavItem::Cost, Action::CostRead, &[]), |visit| {
        let (caller, query) = (here(), Query::here());
        let (now, zone) = (visit.viewer.now, visit.viewer.time_zone.clone());
        let asked = ["days", "from", "to", "by"].map(|key| query.get(key));
        let (selection, problems) = match Selection::parse(asked, now, &zone) {
            Ok(selection) => (selection, Vec::new()),
            Err(problems) => (Selection::usual(now, &zone), problems),
        };
        let wanted = selection.clone();
        let found = async move {
            let caller = caller?;
            let spending = read(&caller, &wanted, ROWS).await?;
            Ok((spending, caller.studio.settings().currency.clone()))
        };
        load(visit.viewer.clone(), found, move |(spending, currency)| {
            Shown { visit, query, selection, problems, spending, currency }.page()
        })
    })
}

/// All that the page is made of.
struct Shown {
    visit: Visit,
    query: Query,
    selection: Selection,
    problems: Vec<Problem>,
    spending: Spending,
    currency: String,
}

impl Shown {
    fn page(&self) -> AnyView {
        let is_empty = self.spending.total.millis == 0;
        let content = if is_empty {
            html! {
                <EmptyState
                    heading="Nothing was used in these days"
                    text="Every node is charged from the wish for it until it is gone, to the jobs on it or to who \
                          owns it. What it costs stands here day by day."
                />
            }
        } else {
            let table = if self.selection.by == By::Day { self.days() } else { self.rows() };
            html! { {self.chart()}{table} }
        };
        let file = (!is_empty).then(|| {
            let href = self.query.pairs_but(&[]).into_iter().fold(
                Query::of(paths::cost_file(self.visit.slug())),
                |url, (key, value)| {
                    if self.problems.is_empty() { url.with(&key, &value) } else { url }
                },
            );
            html! { <a class="btn" href=href.url()><Icon name="download"/>"CSV"</a> }
        });
        let tabs = crate::cost::pages::budgets::tabs(&self.visit, false);
        let (choices, own_only, figures) = (self.choices(), self.own_only(), self.figures());
        html! {
            <Page heading="Cost" sub="What nodes cost, by the ledger. Days are those of your time zone." actions=file>
                {tabs}
                {choices}
                <div class="stack">{own_only}{figures}{content}</div>
            </Page>
        }
    }

    fn own_only(&self) -> Option<AnyView> {
        self.spending.is_own.then(|| {
            let whole: Vec<&str> = Action::CostRead.granted_by(Whose::Others).iter().map(|role| role.label()).collect();
            let text = format!("You see what you pay for yourself. The roles {} see everything.", and_list(&whole));
            html! { <Why tone=Tone::Neutral title="Only your own cost" text=text/> }
        })
    }

    /// The range and what rows are about, as links; other days by a form.
    fn choices(&self) -> AnyView {
        let range = self.selection.range(self.visit.viewer.now).filter(|_| self.problems.is_empty());
        let ranges: Vec<_> = RANGES
            .into_iter()
            .map(|days| {
                let url = self.query.clone().without(&["from", "to"]).with("days", &days.to_string()).url();
                let current = (range == Some(days)).then_some("true");
                view! { <a href=url aria-current=current>{format!("{days} days")}</a> }
            })
            .collect();
        let by: Vec<_> = By::ALL
            .into_iter()
            .map(|by| {
                let url = self.query.clone().with("by", by.key()).url();
                let current = (by == self.selection.by).then_some("true");
                let words = match by {
                    By::Compute => "By compute",
                    By::Person => "By person",
                    By::Job => "By job",
                    By::Day => "By day",
                };
                view! { <a href=url aria-current=current>{words}</a> }
            })
            .collect();
        let problem = |field: &str| {
            self.problems.iter().find(|problem| problem.field == field).map(|problem| problem.message.clone())
        };
        let other = problem("days").or_else(|| problem("by")).map(|text| {
            view! { <Why tone=Tone::Failed title="The usual range is shown" text=text alert=true/> }
        });
        let typed = |field: &str, day: String| match self.query.get(field) {
            "" => day,
            typed => typed.to_owned(),
        };
        let (from, to) = (typed("from", self.selection.from.to_string()), typed("to", self.selection.to.to_string()));
        let kept = self.query.get("by").to_owned();
        let kept = (!kept.is_empty()).then(|| view! { <input type="hidden" name="by" value=kept/> });
        html! {
            <div class="filters cost-choices">
                <nav class="views" aria-label="Days">{ranges}</nav>
                <nav class="views" aria-label="Grouped by">{by}</nav>
                <form class="days" method="get" action=self.query.path().to_owned()>
                    {kept}
                    <Field label="From" name="from" kind="date" value=from problem=problem("from") required=true/>
                    <Field label="To" name="to" kind="date" value=to problem=problem("to") required=true/>
                    <button class="btn" type="submit">"Show"</button>
                </form>
            </div>
            {other}
        }
    }

    fn figures(&self) -> AnyView {
        let (spending, currency) = (&self.spending, &self.currency);
        let count = spending.days.len() as u64;
        let mean = spending.total.cost / count.max(1);
        let nodes = counted(spending.nodes as u64, "node", "nodes");
        let saved = spending.saved.map(|saved| {
            let words = format!(
                "{} off for {} in all, priced as today",
                counted(saved.instances as u64, "instance", "instances"),
                hours(saved.off_millis)
            );
            let parts = [
                ("by schedules", saved.by_schedule),
                ("by idle shutdown", saved.by_idle),
                ("by hand", saved.by_hand()),
            ];
            let parts: Vec<_> = parts
                .into_iter()
                .map(|(words, cost)| {
                    view! {
                        <li><b class="num">{Money(cost).said(currency)}</b>{format!(" {words}")}</li>
                    }
                })
                .collect();
            view! {
                <div>
                    <dt><Icon name="moon" class="i-s"/>"Saved against always on"</dt>
                    <dd>
                        <span class="big">{Money(saved.cost).said(currency)}</span>
                        <ul class="sub saved-by">{parts}</ul>
                        <p class="sub">{words}</p>
                    </dd>
                </div>
            }
        });
        html! {
            <dl class="figures">
                <div>
                    <dt><Icon name="cost" class="i-s"/>{days_said(&self.selection)}</dt>
                    <dd>
                        <span class="big">{Money(spending.total.cost).said(currency)}</span>
                        <p class="sub">{format!("{} of node time", hours(spending.total.millis))}</p>
                    </dd>
                </div>
                <div>
                    <dt><Icon name="calendar" class="i-s"/>"A day, on average"</dt>
                    <dd>
                        <span class="big">{Money(mean).said(currency)}</span>
                        <p class="sub">{format!("over {}", counted(count, "day", "days"))}</p>
                    </dd>
                </div>
                <div>
                    <dt><Icon name="clock" class="i-s"/>"An hour, as things run now"</dt>
                    <dd>
                        <span class="big">{Price(spending.per_hour / 1_000).said(currency)}</span>
                        <p class="sub">{nodes}</p>
                    </dd>
                </div>
                {saved}
            </dl>
        }
    }

    fn chart(&self) -> AnyView {
        let spending = &self.spending;
        let many = spending.series.len();
        let series = spending
            .series
            .iter()
            .enumerate()
            .map(|(place, series)| BarSeries {
                class: if many > 1 && series.name == "Others" && place + 1 == many {
                    "s7"
                } else {
                    COLOURS[place.min(COLOURS.len() - 1)]
                },
                name: series.name.clone(),
                values: series.days.clone(),
            })
            .collect();
        let titles = spending
            .days
            .iter()
            .map(|day| format!("{}: {}", day.date.strftime("%a %-d %B"), Money(day.charge.cost).said(&self.currency)))
            .collect();
        let format = if spending.days.len() > 31 { "%-d %b" } else { "%-d" };
        let words = spending.days.iter().map(|day| day.date.strftime(format).to_string()).collect();
        let dearest = spending.days.iter().max_by_key(|day| day.charge.cost);
        let label = format!(
            "What each day from {} cost: {} in all{}.",
            days_said(&self.selection),
            Money(spending.total.cost).said(&self.currency),
            dearest.map_or_else(String::new, |day| {
                format!(
                    ", most on {} with {}",
                    day.date.strftime("%-d %B"),
                    Money(day.charge.cost).said(&self.currency)
                )
            })
        );
        let (note, currency) = (days_said(&self.selection), self.currency.clone());
        html! {
            <Card heading="Per day" note=note>
                <BarChart label=label series=series titles=titles words=words currency=currency/>
            </Card>
        }
    }

    fn share(&self, cost: u64) -> String {
        let tenths = u128::from(cost) * 1_000 / u128::from(self.spending.total.cost.max(1));
        match (cost, tenths) {
            (0, _) => "0 %".to_owned(),
            (_, 0..10) => "under 1 %".to_owned(),
            (_, tenths) => format!("{} %", (tenths + 5) / 10),
        }
    }

    fn rows(&self) -> AnyView {
        let (heading, column) = match self.selection.by {
            By::Person => ("By person", "Person"),
            By::Job => ("By job", "Job"),
            By::Compute | By::Day => ("By compute", "Compute"),
        };
        let rows: Vec<_> = self.spending.rows.iter().map(|row| self.row(row)).collect();
        let rest = self.spending.rest.map(|rest| self.rest(rest));
        self.table(heading, column, html! { {rows}{rest} })
    }

    fn row(&self, row: &SpendingRow) -> AnyView {
        let slug = self.visit.slug();
        let href = match row.kind {
            Kind::Instance => Some(paths::instance(slug, &row.name)),
            Kind::Cluster => Some(paths::cluster(slug, &row.name)),
            Kind::Serverless => Some(paths::compute(slug, "serverless")),
            Kind::Person => Some(paths::person(slug, &row.key)),
            Kind::Job => Some(paths::job(slug, &row.key)),
            Kind::NoJob | Kind::Deleted => None,
        };
        let title = match href {
            Some(href) => html! { <a class="name" href=href>{row.name.clone()}</a> },
            None => html! { <span class="name">{row.name.clone()}</span> },
        };
        let detail = match row.kind {
            Kind::Instance => "instance",
            Kind::Cluster => "cluster",
            Kind::Serverless => "on nodes of their own",
            Kind::NoJob => "nodes that were up and ran no job, instances among them",
            Kind::Deleted => "not there any more",
            Kind::Job if row.key != row.name => &row.key,
            Kind::Job | Kind::Person => "",
        };
        let detail = (!detail.is_empty()).then(|| view! { <span class="l2">{detail.to_owned()}</span> });
        self.line(html! { {title}{detail} }, row.charge.millis, row.charge.cost)
    }

    fn rest(&self, rest: Rest) -> AnyView {
        let words = format!("{} more", rest.count);
        let title =
            view! { <span class="name">{words}</span><span class="l2">"all together; the CSV has each of them"</span> };
        self.line(title.into_any(), rest.charge.millis, rest.charge.cost)
    }

    fn days(&self) -> AnyView {
        let used = self.spending.days.iter().rev().filter(|day| day.charge.millis > 0);
        let rows: Vec<_> = used
            .map(|day| {
                let date = day.date.to_string();
                let said = day.date.strftime("%A %-d %B %Y").to_string();
                let title = view! { <time class="name" datetime=date>{said}</time> };
                self.line(title.into_any(), day.charge.millis, day.charge.cost)
            })
            .collect();
        self.table("By day", "Day", rows.into_any())
    }

    fn line(&self, title: AnyView, millis: u64, cost: u64) -> AnyView {
        html! {
            <tr>
                <th scope="row">{title}</th>
                <td class="right nowrap" data-label="Node time">{hours(millis)}</td>
                <td class="right nowrap" data-label="Share">{self.share(cost)}</td>
                <td class="right nowrap"><b>{Money(cost).said(&self.currency)}</b></td>
            </tr>
        }
    }

    fn table(&self, heading: &'static str, column: &'static str, rows: AnyView) -> AnyView {
        let total = &self.spending.total;
        let (time, total) = (hours(total.millis), Money(total.cost).said(&self.currency));
        let heads = heads(&[(column, ""), ("Node time", "right"), ("Share", "right"), ("Cost", "right")]);
        html! {
            <Card heading=heading flush=true>
                <TableWrap>
                    <table class="table tight costs">
                        <caption class="sr">{heading}</caption>
                        <thead><tr>{heads}</tr></thead>
                        <tbody>{rows}</tbody>
                        <tfoot>
                            <tr>
                                <th scope="row">"Total"</th>
                                <td class="right nowrap" data-label="Node time">{time}</td>
                                <td class="right nowrap" data-label="Share">"100 %"</td>
                                <td class="right nowrap"><b>{total}</b></td>
                            </tr>
                        </tfoot>
                    </table>
                </TableWrap>
            </Card>
        }
    }
}

/// The days in words: `18 October to 16 November 2026`.
fn days_said(selection: &Selection) -> String {
    let (from, to) = (selection.from, selection.to);
    let last = to.strftime("%-d %B %Y");
    if from == to {
        last.to_string()
    } else if from.year() == to.year() {
        format!("{} to {last}", from.strftime("%-d %B"))
    } else {
        format!("{} to {last}", from.strftime("%-d %B %Y"))
    }
}

/// Node time in words: `3.4 h`, `12 min`, `8 s`.
fn hours(millis: u64) -> String {
    match millis {
        0 => "0 h".to_owned(),
        1..1_000 => "under 1 s".to_owned(),
        1_000..60_000 => format!("{} s", millis / 1_000),
        60_000..3_600_000 => format!("{} min", millis / 60_000),
        3_600_000..360_000_000 => format!("{}.{} h", millis / 3_600_000, millis % 3_600_000 / 360_000),
        _ => format!("{} h", grouped((millis + 1_800_000) / 3_600_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::hours;

    #[test]
    fn node_time_is_said_as_long_as_it_matters() {
        for (millis, said) in [
            (0, "0 h"),
            (20, "under 1 s"),
            (59_999, "59 s"),
            (3_599_999, "59 min"),
            (5_400_000, "1.5 h"),
            (360_000_000, "100 h"),
            (10_000 * 3_600_000, "10,000 h"),
        ] {
            assert_eq!(hours(millis), said);
        }
    }
}
