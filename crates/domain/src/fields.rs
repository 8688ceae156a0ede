//! What stands in the fields of a form, all of it text: what is wrong must come back as it was typed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The days as fields are named after them, from Monday: `mon`, `mon_start`, `mon_stop`.
pub const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// What was typed, by field. A box that is not ticked is not there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fields(pub BTreeMap<String, String>);

impl Fields {
    /// What stands in a field; nothing if it is not there.
    pub fn get(&self, field: &str) -> &str {
        self.0.get(field).map_or("", String::as_str)
    }

    /// Whether a box is ticked.
    pub fn is_on(&self, field: &str) -> bool {
        !self.get(field).is_empty()
    }

    /// Puts something into a field; nothing takes the field away.
    pub fn set(&mut self, field: &str, value: impl Into<String>) {
        let value = value.into();
        if value.is_empty() {
            self.0.remove(field)
        } else {
            self.0.insert(field.to_owned(), value)
        };
    }

    /// Whether a day is ticked, and what stands in its two fields.
    pub fn day(&self, day: &str) -> (bool, &str, &str) {
        (self.is_on(day), self.get(&[day, "_start"].concat()), self.get(&[day, "_stop"].concat()))
    }

    pub fn set_day(&mut self, day: &str, is_on: bool, start: &str, stop: &str) {
        self.set(day, if is_on { "on" } else { "" });
        self.set(&[day, "_start"].concat(), start);
        self.set(&[day, "_stop"].concat(), stop);
    }

    /// Copies Monday to the days after it: `workdays` or `every-day`. Anything else copies nothing.
    pub fn copy_monday(&mut self, to: &str) {
        let count = match to {
            "workdays" => 5,
            "every-day" => 7,
            _ => 1,
        };
        let (is_on, start, stop) = self.day(DAYS[0]);
        let (start, stop) = (start.to_owned(), stop.to_owned());
        for day in &DAYS[1..count] {
            self.set_day(day, is_on, &start, &stop);
        }
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for Fields {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut fields = Self::default();
        for (field, value) in pairs {
            fields.set(&field.into(), value);
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monday_is_copied_as_it_stands() {
        let typed = [("mon", "on"), ("mon_start", "07:00"), ("mon_stop", "odd"), ("sat", "on"), ("sat_start", "9")];
        let mut fields: Fields = typed.into_iter().collect();
        fields.copy_monday("workdays");
        assert_eq!(fields.day("fri"), (true, "07:00", "odd"));
        assert_eq!(fields.day("sat"), (true, "9", ""));
        fields.copy_monday("every-day");
        assert_eq!(fields.day("sun"), (true, "07:00", "odd"));
        fields.set_day("mon", false, "08:00", "09:00");
        fields.copy_monday("every-day");
        assert_eq!(fields.day("sat"), (false, "08:00", "09:00"));
        let before = fields.clone();
        fields.copy_monday("nothing");
        assert_eq!(fields, before);
    }
}
