//! What a job printed: a window of it, made on the server. Script follows the end of it.

use atelier_domain::files::bytes;
use atelier_domain::paths;
use atelier_engine::fleet::LogName;
use atelier_studio::html::{attribute, text};
use atelier_studio::jobs::detail::JobDetail;
use atelier_studio::jobs::log::{Line, MOST_FOUND, Search, Window};
use atelier_studio::jobs::retention;
use leptos::prelude::*;
use leptos::tachys::html::InertElement;

use crate::components::{Icon, Query};
use crate::frame::Visit;

/// The log, with the ways through it.
pub fn panel(visit: &Visit, query: &Query, detail: &JobDetail) -> AnyView {
    let (slug, id) = (visit.slug(), detail.row.job.id.to_string());
    let log = &detail.log;
    let base = Query::of(paths::job(slug, &id));
    let named =
        |name: LogName| base.clone().with("attempt", &name.attempt.to_string()).with("node", &name.node.0.to_string());
    let parts = parts(detail, &base);
    let shown = log.shown.as_ref();
    let file = shown.map(|(name, _)| {
        let address = paths::job_log(slug, &id);
        Query::of(address).with("attempt", &name.attempt.to_string()).with("node", &name.node.0.to_string()).url()
    });
    let download = file.clone().map(|href| {
        view! { <a class="btn sm icon" href=href download="" aria-label="Download the log"><Icon name="download"/></a> }
    });
    // Only the end grows; an older page of the log stays as it is.
    let is_live =
        log.is_end && log.search.is_none() && (detail.row.ended.is_none() || shown.is_some_and(|(_, it)| it.is_open));
    let stream = is_live.then(|| {
        let address = Query::of(paths::job_log_events(slug, &id));
        match shown.filter(|_| log.is_named) {
            Some((name, _)) => {
                address.with("attempt", &name.attempt.to_string()).with("node", &name.node.0.to_string()).url()
            }
            None => address.url(),
        }
    });
    let is_still = log.is_end && log.search.is_none() && !is_live;
    let mark = shown.map(|(name, it)| format!("{}-{}-{}", name.attempt, name.node.0, it.follow_from));
    let find = find(query, detail, &base);
    let following = is_live.then(|| {
        view! {
            <button class="btn sm needs-script" type="button" aria-pressed="true" data-log-follow="">
                <Icon name="down"/>"Follow"
            </button>
        }
    });
    let found = match (&log.search, shown) {
        (Some(search), Some((name, _))) => Some(found(search, query.get("find"), &named(*name))),
        _ => None,
    };
    let content = match (found, shown) {
        (Some(found), _) => found,
        (None, Some((name, window))) => lines(window, &named(*name)),
        (None, None) => {
            html! { <ol class="lines" tabindex="0" aria-label="Log lines" data-log-lines=""></ol> }
        }
    };
    let ways = shown.filter(|_| log.search.is_none()).map(|(name, window)| ways(window, &named(*name), log.is_end));
    let status = match shown {
        Some((_, window)) => format!("{} in all, standard output and standard error.", bytes(window.length)),
        None if log.removed_after.is_some() => log.removed_after.map(retention::sentence).unwrap_or_default(),
        None if detail.row.ended.is_some() => "It has printed nothing.".to_owned(),
        None => "It has printed nothing yet.".to_owned(),
    };
    html! {
        <section class="log" aria-label="Log" data-log=stream data-log-after=mark data-log-end=is_still.then_some("")>
            <div class="bar">
                <b>"Log"</b>
                <span class="tools" data-live="log-tools">{parts}{find}{download}</span>
                {following}
            </div>
            {content}
            <div class="status"><span data-log-status="" role="status">{status}</span>{ways}</div>
        </section>
    }
}

/// Which attempt and node, where there are several.
fn parts(detail: &JobDetail, base: &Query) -> AnyView {
    let log = &detail.log;
    if log.all.len() < 2 {
        return ().into_any();
    }
    let current = log.shown.as_ref().map(|(name, _)| *name);
    let word = current.map_or_else(|| "Choose".to_owned(), |name| format!("Attempt {}, {}", name.attempt, name.node));
    let links: Vec<_> = log
        .all
        .iter()
        .rev()
        .map(|info| {
            let (attempt, node) = (info.name.attempt.to_string(), info.name.node.0.to_string());
            let href = base.clone().with("attempt", &attempt).with("node", &node).url();
            let is_current = Some(info.name) == current;
            let words = format!("Attempt {attempt}, {} ({})", info.name.node, bytes(info.length));
            view! { <a href=href aria-current=is_current.then_some("true")>{words}</a> }
        })
        .collect();
    html! {
        <button class="btn sm" type="button" popovertarget="m-log">{word}<Icon name="down" class="i-s"/></button>
        <div class="menu start" id="m-log" popover="auto"><h3>"Log of"</h3>{links}</div>
    }
}

fn find(query: &Query, detail: &JobDetail, base: &Query) -> AnyView {
    if detail.log.shown.is_none() {
        return ().into_any();
    }
    let kept: Vec<_> = ["attempt", "node"]
        .into_iter()
        .filter(|key| !query.get(key).is_empty())
        .map(|key| view! { <input type="hidden" name=key value=query.get(key).to_owned()/> })
        .collect();
    let action = base.path().to_owned();
    html! {
        <form class="find" role="search" method="get" action=action aria-label="Find in the log">
            <Icon name="search" class="i-s"/>
            <input
                type="search" name="find" value=query.get("find").to_owned() aria-label="Find in the log"
                placeholder="Find" autocomplete="off"
            />
            {kept}
            <button class="sr" type="submit">"Find"</button>
        </form>
    }
}

/// The lines of a window. Written as text at once, since there may be thousands.
pub fn lines(window: &Window, here: &Query) -> AnyView {
    let href = here.clone().with("from", &window.from.to_string()).url();
    let mut html = String::with_capacity(window.lines.len() * 120 + 200);
    html.push_str("<ol class=\"lines\" tabindex=\"0\" aria-label=\"Log lines\" data-log-lines=\"\">");
    let last = window.lines.len().saturating_sub(1);
    for (index, line) in window.lines.iter().enumerate() {
        let is_open = window.is_open && index == last;
        write_line(&mut html, line, &href, is_open);
    }
    html.push_str("</ol>");
    InertElement::new(html).into_any()
}

fn write_line(html: &mut String, line: &Line, href: &str, is_open: bool) {
    let open = if is_open { " data-open=\"\"" } else { "" };
    match line.number {
        Some(number) => html.push_str(&format!(
            "<li id=\"L{number}\"{open}><a href=\"{}#L{number}\" tabindex=\"-1\">{number}</a><span>",
            attribute(href)
        )),
        None => html.push_str(&format!("<li{open}><a></a><span>")),
    }
    for piece in &line.pieces {
        if piece.class.is_empty() {
            html.push_str(&text(&piece.text));
        } else {
            html.push_str(&format!("<span class=\"{}\">{}</span>", piece.class, text(&piece.text)));
        }
    }
    if line.left_out > 0 {
        html.push_str(&format!("<i class=\"a-d\"> … {} more of this line</i>", bytes(line.left_out as u64)));
    }
    html.push_str("</span></li>");
}

/// What was found, each line with the way to its place.
fn found(search: &Search, wanted: &str, here: &Query) -> AnyView {
    let mut html = String::from("<ol class=\"lines\" tabindex=\"0\" aria-label=\"Lines that were found\">");
    for found in &search.found {
        let href = here.clone().with("from", &found.at.to_string()).url();
        write_line(&mut html, &found.line, &href, false);
    }
    html.push_str("</ol>");
    let more =
        if search.has_more { format!("The first {MOST_FOUND} lines") } else { format!("{} lines", search.found.len()) };
    let from = if search.from > 0 {
        format!(" The first {} were not searched: download the log for that.", bytes(search.from))
    } else {
        String::new()
    };
    let said = format!("{more} with “{wanted}”.{from}");
    let back = here.url();
    html! {
        <div class="status"><span>{said}</span><a class="push" href=back>"Back to the end of the log"</a></div>
        {InertElement::new(html)}
    }
}

/// The pages of a long log.
pub fn ways(window: &Window, here: &Query, is_end: bool) -> AnyView {
    let earlier = (window.from > 0).then(|| {
        let href = here.clone().with("until", &window.from.to_string()).url();
        view! { <a href=href rel="prev">{format!("Earlier ({} more)", bytes(window.from))}</a> }
    });
    let later = (window.to < window.length).then(|| {
        let href = here.clone().with("from", &window.to.to_string()).url();
        view! { <a href=href rel="next">"Later"</a> }
    });
    let end = (!is_end).then(|| view! { <a href=here.url()>"To the end"</a> });
    html! { <span class="push row-tight">{earlier}{later}{end}</span> }
}

#[cfg(test)]
mod tests {
    use atelier_domain::ansi::Painter;

    use super::*;

    #[test]
    fn what_a_job_prints_stays_text() {
        let mut html = String::new();
        let pieces = Painter::default().paint("\u{1b}[31m<script>alert(\"1\")</script>&amp;");
        write_line(&mut html, &Line { number: Some(3), pieces, left_out: 5_000 }, "/x?a=1&b=\"", true);
        assert!(!html.contains("<script>") && html.contains("&lt;script&gt;"), "{html}");
        assert!(html.contains("<li id=\"L3\" data-open=\"\"><a href=\"/x?a=1&amp;b=&quot;#L3\""), "{html}");
        assert!(html.contains("<span class=\"a-r\">") && html.contains("4.8 KiB more of this line"), "{html}");
    }
}
