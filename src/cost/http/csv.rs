//! What a selection of days cost, as a file for spreadsheets.

use atelier_domain::world::Charge;
use atelier_studio::caller::Caller;
use atelier_studio::cost::days::{By, Selection};
use atelier_studio::cost::spent::read;
use atelier_studio::cost::view::Spending;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use crate::error::AppError;
use crate::server::state::AppState;
use crate::server::{caller, downloads};

/// The most rows; all others are one.
const MOST_ROWS: usize = 10_000;

/// `GET /w/{workspace}/cost.csv?days=&from=&to=&by=`: the same selection as the page, with more rows.
pub async fn download(State(state): State<AppState>, request: Request) -> Response {
    let request_id = downloads::request_id(&request);
    let query = request.uri().query().unwrap_or_default().to_owned();
    let (parts, _) = request.into_parts();
    let written = match caller::of(&state, &parts) {
        Ok(caller) => write(&caller, &query).await,
        Err(error) => Err(error),
    };
    let (name, text) = match written {
        Ok(written) => written,
        Err(error) => return downloads::refused(&error, StatusCode::NOT_FOUND, &request_id),
    };
    let mut response = text.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // The name has nothing in it but dates and one of four words.
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    response
}

async fn write(caller: &Caller, query: &str) -> Result<(String, String), AppError> {
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let get = |key: &str| pairs.iter().find(|(name, _)| name == key).map_or("", |(_, value)| value);
    let zone = &caller.actor()?.person.time_zone;
    let asked = ["days", "from", "to", "by"].map(get);
    let selection = Selection::parse(asked, atelier_engine::clock::now(), zone)
        .map_err(|problems| AppError::Invalid { problems })?;
    let spending = read(caller, &selection, MOST_ROWS).await?;
    let name = format!("cost-{}-{}-by-{}.csv", selection.from, selection.to, selection.by.key());
    let text = caller.checked(file(&selection, &spending, &caller.studio.settings().currency))?;
    Ok((name, text))
}

fn file(selection: &Selection, spending: &Spending, currency: &str) -> csv::Result<String> {
    let mut out = writer();
    let mut line = |cells: &[&str], charge: Option<Charge>| {
        let numbers = charge.map_or_else(
            || ["node_hours".to_owned(), "cost".to_owned(), "currency".to_owned()],
            |charge| [decimal(charge.millis, 3_600_000), decimal(charge.cost, 1_000_000_000), currency.to_owned()],
        );
        out.write_record(cells.iter().map(|text| harmless(text)).chain(numbers))
    };
    if selection.by == By::Day {
        line(&["day"], None)?;
        spending.days.iter().try_for_each(|day| line(&[&day.date.to_string()], Some(day.charge)))?;
    } else {
        line(&[selection.by.key(), "id", "kind"], None)?;
        spending.rows.iter().try_for_each(|row| line(&[&row.name, &row.key, row.kind.key()], Some(row.charge)))?;
        if let Some(rest) = spending.rest {
            line(&[&format!("{} more", rest.count), "", "rest"], Some(rest.charge))?;
        }
    }
    text(out)
}

/// Quotes what would end a cell. A semicolon would, too, in spreadsheets of many countries, which is why it
/// is called a comment here: that is how to have a letter quoted that is not the separator.
fn writer() -> csv::Writer<Vec<u8>> {
    csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).comment(Some(b';')).from_writer(Vec::new())
}

fn text(out: csv::Writer<Vec<u8>>) -> csv::Result<String> {
    let bytes = out.into_inner().map_err(|error| error.into_error())?;
    String::from_utf8(bytes).map_err(|error| std::io::Error::other(error).into())
}

/// A number with six decimals at most, exactly as machines read it.
fn decimal(parts: u64, unit: u64) -> String {
    let millionths = u128::from(parts) * 1_000_000 / u128::from(unit);
    format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
}

/// Text for a cell. What a spreadsheet would take for a formula begins with an apostrophe.
fn harmless(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As it stands in the file, between two others.
    fn cell(content: &str) -> String {
        let mut out = writer();
        out.write_record(["a", &harmless(content), "b"]).expect("writes");
        let line = text(out).expect("text");
        line.strip_prefix("a,").and_then(|rest| rest.strip_suffix(",b\r\n")).expect("a cell").to_owned()
    }

    #[test]
    fn cells_are_quoted_and_never_formulas() {
        for (text, written) in [
            ("train-pool", "train-pool"),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=1+1", "'=1+1"),
            ("@SUM(A1,B1)", "\"'@SUM(A1,B1)\""),
            ("-2", "'-2"),
            ("+49", "'+49"),
            ("\tx", "'\tx"),
            ("", ""),
            ("a;=1+1", "\"a;=1+1\""),
        ] {
            assert_eq!(cell(text), written, "{text:?}");
        }
        assert_eq!(decimal(5_400_000, 3_600_000), "1.500000");
        assert_eq!(decimal(1_234_567_890, 1_000_000_000), "1.234567");
    }

    proptest! {
        /// Read again, a cell is what was written, but for the apostrophe; and it never begins a formula.
        #[test]
        fn cells_are_read_again(text in "\\PC{0,20}|[=+@-][\",\n]{0,4}") {
            let written = cell(&text);
            let read = match written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
                Some(inside) => inside.replace("\"\"", "\""),
                None => written,
            };
            prop_assert!(!read.starts_with(['=', '+', '-', '@']));
            prop_assert_eq!(read.strip_prefix('\'').filter(|rest| *rest == text).unwrap_or(&read), &text);
        }
    }
}
