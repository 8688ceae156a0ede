//! Numbers as they are typed into forms.

use atelier_domain::error::AppError;
use atelier_domain::text::{Problem, shortened};

/// A whole number.
pub fn whole(field: &'static str, what: &str, text: &str) -> Result<u32, Problem> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Problem::new(field, format!("{what} is missing; type a whole number.")));
    }
    text.parse().map_err(|_| {
        Problem::new(field, format!("{what} is a whole number from 0 to {}; this is “{}”.", u32::MAX, shortened(text)))
    })
}

/// A number with at most so many decimals, as a whole number of the last of them: `0.25` with 3 is 250.
pub fn decimal(field: &'static str, what: &str, text: &str, places: usize) -> Result<u64, Problem> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Problem::new(field, format!("{what} is missing; type a number.")));
    }
    let wrong = || {
        let start = shortened(text);
        let message =
            format!("{what} is a number such as 2 or 0.5, with at most {places} decimals; this is “{start}”.");
        Problem::new(field, message)
    };
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole)
        || !are_digits(fraction)
        || fraction.len() > places
        || (whole.is_empty() && fraction.is_empty())
    {
        return Err(wrong());
    }
    let digits = format!("{whole}{fraction:0<places$}");
    digits.parse().map_err(|_| wrong())
}

/// Memory as it is typed in GiB, as MiB. Four decimals are enough to tell every MiB from the next.
pub fn memory(field: &'static str, what: &str, text: &str) -> Result<u64, Problem> {
    let parts = decimal(field, what, text, 4)?;
    Ok(u64::try_from((u128::from(parts) * 1_024 + 5_000) / 10_000).unwrap_or(u64::MAX))
}

/// MiB as they are typed in GiB; read again, they are the same.
pub fn typed_memory(mebibytes: u64) -> String {
    let parts = (u128::from(mebibytes) * 10_000 + 512) / 1_024;
    trimmed(&format!("{}.{:04}", parts / 10_000, parts % 10_000))
}

/// Thousandths of cores as they are typed in cores.
pub fn typed_cores(thousandths: u64) -> String {
    trimmed(&format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000))
}

fn trimmed(number: &str) -> String {
    number.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// So many things can be chosen at once.
const MOST_CHOSEN: usize = 200;

/// Refuses more than can be changed at once.
pub fn few_enough(chosen: &[String], nouns: &str) -> Result<(), Problem> {
    if chosen.len() <= MOST_CHOSEN {
        return Ok(());
    }
    let message = format!("At most {MOST_CHOSEN} {nouns} are changed at once; {} were selected.", chosen.len());
    Err(Problem::new("ids", message))
}

/// Refuses the name that is the address of a form: what is called so would have no page.
pub fn free_name<N: std::fmt::Display>(field: &'static str, name: N, nouns: &str) -> Result<N, Problem> {
    if name.to_string() != "new" {
        return Ok(name);
    }
    Err(Problem::new(field, format!("“new” is the address of the form for {nouns}. Choose another name.")))
}

/// The parts of a form, or all that is wrong with it at once.
#[derive(Default)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Keeps the value, or notes the problem.
    pub fn take<T>(&mut self, parsed: Result<T, Problem>) -> Option<T> {
        parsed.map_err(|problem| self.0.push(problem)).ok()
    }

    /// Keeps the value or notes the problems of fields; gives any other error back.
    pub fn keep<T>(&mut self, read: Result<T, AppError>) -> Result<Option<T>, AppError> {
        match read {
            Ok(value) => Ok(Some(value)),
            Err(AppError::Invalid { problems }) => {
                self.0.extend(problems);
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }

    /// All of them as one error.
    pub fn into_error(self) -> AppError {
        AppError::Invalid { problems: self.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_form_shows_is_read_again_as_it_was() {
        for mebibytes in (1..10_000).chain([2_785, 16_384, 67_108_864]) {
            assert_eq!(memory("memory", "It", &typed_memory(mebibytes)), Ok(mebibytes), "{}", typed_memory(mebibytes));
        }
        for thousandths in 1..3_000 {
            assert_eq!(decimal("cores", "It", &typed_cores(thousandths), 3), Ok(thousandths));
        }
        assert_eq!([1_536, 16_384].map(typed_memory), ["1.5", "16"]);
        assert_eq!([500, 2_000].map(typed_cores), ["0.5", "2"]);
    }

    #[test]
    fn numbers_are_read_as_people_type_them() {
        for (text, places, number) in [
            ("2", 3, 2_000),
            ("0.25", 3, 250),
            (" .5 ", 3, 500),
            ("0,5", 3, 500),
            ("1.000001", 6, 1_000_001),
            ("3.", 2, 300),
        ] {
            assert_eq!(decimal("x", "It", text, places), Ok(number), "{text}");
        }
        for text in ["", ".", "-1", "1.2345", "1e3", "1 000", "99999999999999999999", "½"] {
            assert!(decimal("x", "It", text, 3).is_err(), "{text}");
        }
        assert_eq!(whole("min", "The minimum", " 7 "), Ok(7));
        assert!(whole("min", "The minimum", "1.5").is_err_and(|problem| problem.message.contains("“1.5”")));
        assert!(whole("min", "The minimum", "").is_err_and(|problem| problem.message.contains("missing")));
    }
}
