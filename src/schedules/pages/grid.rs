//! The weekly grid: a box, a start and a stop for each day. With script the bars can be dragged.

use atelier_domain::fields::{DAYS, Fields};
use atelier_studio::schedules::typed::day_name;
use leptos::prelude::*;

use crate::components::{problem_line, zones};
use crate::form::FormState;

/// Minutes of a day.
const DAY: u32 = 1_440;

/// What is drawn on a day beside its hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    pub day: usize,
    /// The present minute.
    pub now: u32,
    /// Until when it was kept running today, past its hours.
    pub kept_until: Option<u32>,
}

/// The grid in a card, with the zone above and the way to copy Monday below. `copies_at` is the page that
/// shows the form with Monday copied, where the form's own address does something else.
pub fn card(
    fields: &Fields,
    state: &FormState,
    own_zone: &str,
    mark: Option<Mark>,
    copies_at: Option<&str>,
) -> AnyView {
    let zone = zone_field(fields, state, own_zone);
    let rows: Vec<_> = (0..7).map(|day| row(day, fields, state, mark)).collect();
    let copies: Vec<_> = [("workdays", "workdays"), ("every-day", "every day")]
        .into_iter()
        .map(|(value, words)| {
            let (page, method) = (copies_at.map(ToOwned::to_owned), copies_at.map(|_| "get"));
            view! {
                <button
                    class="btn sm" type="submit" name="copy" value=value formaction=page formmethod=method
                    formnovalidate
                >
                    {words}
                </button>
            }
        })
        .collect();
    let head = html! {
        <thead>
            <tr>
                <th scope="col">"Day"</th>
                <th scope="col">"Start"</th>
                <th scope="col">"Stop"</th>
                <th scope="col">
                    <span class="hours" aria-hidden="true">
                        <span>"00"</span>
                        <span>"06"</span>
                        <span>"12"</span>
                        <span>"18"</span>
                        <span>"24"</span>
                    </span>
                    <span class="sr">"Hours"</span>
                </th>
            </tr>
        </thead>
    };
    html! {
        <fieldset class="card week-card" data-week="">
            <legend class="sr">"Week"</legend>
            <header><h2>"Week"</h2><div class="push">{zone}</div></header>
            <div class="body">
                <table class="week"><caption class="sr">"Hours of each day"</caption>{head}<tbody>{rows}</tbody></table>
            </div>
            <footer class="row-between">
                <span>"A stop before its start is on the next day."</span>
                <span class="row-tight">
                    <span>"Copy Monday to"</span>
                    {copies}
                </span>
            </footer>
        </fieldset>
    }
}

/// Where the clock hangs.
pub fn zone_field(fields: &Fields, state: &FormState, own_zone: &str) -> AnyView {
    let chosen = match fields.get("time_zone") {
        "" => own_zone.to_owned(),
        typed => typed.to_owned(),
    };
    let options: Vec<_> = zones(&chosen)
        .into_iter()
        .map(|(name, _)| {
            let (selected, value) = (name == chosen, name.clone());
            let words = if name == own_zone { format!("{name} (yours)") } else { name };
            view! { <option value=value selected=selected>{words}</option> }
        })
        .collect();
    let problem = state.problem("time_zone");
    let is_wrong = problem.is_some();
    let problem = problem_line("f-time_zone-problem", problem);
    html! {
        <div class="field zone-field">
            <label class="faint xs" for="f-time_zone">"Time zone"</label>
            <select
                class="select" id="f-time_zone" name="time_zone" aria-invalid=is_wrong.then_some("true")
                aria-describedby=is_wrong.then_some("f-time_zone-problem")
            >
                {options}
            </select>
            {problem}
        </div>
    }
}

fn row(day: usize, fields: &Fields, state: &FormState, mark: Option<Mark>) -> AnyView {
    let key = DAYS[day];
    let name = day_name(key);
    let (is_on, start, stop) = fields.day(key);
    let problem_of = |what: &str| state.problem(&format!("{key}_{what}"));
    let wrong = |what| problem_line(&format!("f-{key}-{what}-problem"), problem_of(what));
    let wrong: Vec<_> = ["start", "stop"].into_iter().filter_map(wrong).collect();
    let wrong = (!wrong.is_empty()).then(|| view! { <tr class="week-problem"><td colspan="4">{wrong}</td></tr> });
    let time = |what: &'static str, value: &str| {
        let id = format!("f-{key}-{what}-problem");
        let is_wrong = problem_of(what).is_some();
        let (field, label, value) = (format!("{key}_{what}"), format!("{name}, {what}"), value.to_owned());
        html! {
            <input
                class="input w-time" type="time" name=field value=value aria-label=label
                aria-invalid=is_wrong.then_some("true")
                aria-describedby=is_wrong.then_some(id)
            />
        }
    };
    let (from, until) = (time("start", start), time("stop", stop));
    let bar = bar(day, fields, mark.filter(|mark| mark.day == day));
    html! {
        <tr data-day=key>
            <th scope="row">
                <label class="check">
                    <input type="checkbox" name=key value="on" checked=is_on/>
                    <span>{name}</span>
                </label>
            </th>
            <td>{from}</td>
            <td>{until}</td>
            <td class="bar">{bar}</td>
        </tr>
        {wrong}
    }
}

/// Minutes after midnight, if it is a time.
fn minutes(text: &str) -> Option<u32> {
    let (hour, minute) = text.trim().split_once(':')?;
    let (hour, minute) = (hour.parse::<u32>().ok()?, minute.parse::<u32>().ok()?);
    (hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

/// The hours of a day, in minutes: its own, and those that reach into it from the day before.
fn hours_of(day: usize, fields: &Fields) -> (Option<(u32, u32)>, Option<u32>) {
    let of = |day: usize| {
        let (is_on, start, stop) = fields.day(DAYS[day]);
        (is_on.then(|| minutes(start)).flatten(), is_on.then(|| minutes(stop)).flatten())
    };
    let own = match of(day) {
        (Some(start), Some(stop)) if stop > start => Some((start, stop)),
        (Some(start), Some(_)) => Some((start, DAY)),
        _ => None,
    };
    let spill = match of((day + 6) % 7) {
        (Some(start), Some(stop)) if stop < start && stop > 0 => Some(stop),
        _ => None,
    };
    (own, spill)
}

fn percent(minute: u32) -> String {
    let parts = minute * 10_000 / DAY;
    format!("{}.{:02}%", parts / 100, parts % 100)
}

/// The bar of a day. Its grips are for script, which moves them by pointer and by keys.
fn bar(day: usize, fields: &Fields, mark: Option<Mark>) -> AnyView {
    let (own, spill) = hours_of(day, fields);
    let (key, name) = (DAYS[day], day_name(DAYS[day]));
    let (is_on, start, stop) = fields.day(key);
    let label = match (is_on, start, stop) {
        (false, ..) => format!("{name}: no hours of its own"),
        (true, start, "") => format!("{name}: starts at {start}"),
        (true, "", stop) => format!("{name}: stops at {stop}"),
        (true, start, stop) => format!("{name}: awake {start} to {stop}"),
    };
    let ticks: Vec<_> = [6, 12, 18]
        .into_iter()
        .map(|hour| view! { <line class="tick" x1=percent(hour * 60) x2=percent(hour * 60) y1="1" y2="25"></line> })
        .collect();
    let (x, width) = own.map_or((0, 0), |(start, stop)| (start, stop - start));
    let spill_width = spill.unwrap_or(0);
    let grips: Vec<_> = [("start", x), ("stop", x + width)]
        .into_iter()
        .map(|(what, at)| {
            let shown = own.is_some();
            let text = if what == "start" { start } else { stop }.to_owned();
            view! {
                <rect
                    class="grip needs-script" data-grip=what x=percent(at) y="3" width="6" height="20" rx="3"
                    role="slider" tabindex="0"
                    aria-label=format!("{name}, drag the {what}") aria-valuemin="0" aria-valuemax="1440"
                    aria-valuenow=at.to_string()
                    aria-valuetext=text data-off=(!shown).then_some("")
                ></rect>
            }
        })
        .collect();
    let extra = mark.and_then(|mark| {
        let until = mark.kept_until?;
        let from = own.map_or(0, |(_, stop)| stop).min(until);
        Some(view! {
            <rect class="extra" x=percent(from) y="4.5" width=percent(until - from) height="17" rx="3.5"></rect>
        })
    });
    let now = mark.map(|mark| {
        let at = percent(mark.now);
        view! { <line class="now" x1=at.clone() x2=at y1="0" y2="26"></line> }
    });
    html! {
        <svg role="group" aria-label=label data-bar="">
            <rect class="track" x="0.5" y="0.5" width="99.8%" height="25" rx="5"></rect>
            {ticks}
            <rect class="spill" x="0" y="4" width=percent(spill_width) height="18" rx="4"></rect>
            <rect class="on" x=percent(x) y="4" width=percent(width) height="18" rx="4"></rect>
            {extra}
            {now}
            {grips}
        </svg>
    }
}

#[cfg(test)]
mod tests {
    use atelier_studio::schedules::typed::workdays;

    use super::*;

    #[test]
    fn nights_reach_into_the_next_day() {
        let mut fields = workdays("UTC");
        assert_eq!(hours_of(0, &fields), (Some((510, 1_080)), None));
        assert_eq!(hours_of(6, &fields), (None, None));
        fields.set_day("sun", true, "22:00", "06:00");
        assert_eq!(hours_of(6, &fields), (Some((1_320, DAY)), None));
        assert_eq!(hours_of(0, &fields), (Some((510, 1_080)), Some(360)));
        fields.set_day("sun", true, "22:00", "00:00");
        assert_eq!(hours_of(0, &fields).1, None, "midnight is the end of the day before");
        assert_eq!([0, 510, 1_440].map(percent), ["0.00%", "35.41%", "100.00%"]);
    }
}
