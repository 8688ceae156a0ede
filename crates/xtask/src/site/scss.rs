//! `style/main.scss`: the list of the style sheets in their order.
//!
//! It holds `@use` lines and comments and nothing else, so that `cargo leptos` with Sass and we, without it,
//! make the same of it.

use crate::failure::{Failure, Result};

/// Returns the names in `@use "name";` lines in their order.
pub fn used_names(main: &str) -> Result<Vec<String>> {
    main.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with("//"))
        .map(|(number, line)| {
            used_name(line).map(str::to_owned).ok_or_else(|| {
                Failure::new(format!(
                    "style/main.scss line {number} is `{line}`, but only `@use \"name\";` lines and // comments are \
                     allowed there. Put the rule into a style sheet of its own."
                ))
            })
        })
        .collect()
}

/// Reads `@use "name";` and `@use "name" as something;`, which Sass needs when two files have the same last
/// name.
fn used_name(line: &str) -> Option<&str> {
    let (name, rest) = line.strip_prefix("@use \"")?.strip_suffix(';')?.split_once('"')?;
    let rest_is_alias = rest.is_empty() || rest.trim_start().starts_with("as ");
    (rest_is_alias && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_names_in_order() {
        let names = used_names("// why\n@use \"tokens\";\n\n@use \"components/table\" as *;\n").expect("all are fine");
        assert_eq!(names, ["tokens", "components/table"]);
    }

    #[test]
    fn refuses_rules() {
        for bad in ["a { color: red }", "@use tokens;", "@import \"tokens\";", "@use \"\";", "@use \"a\" with (b: c);"]
        {
            let failure = used_names(bad).expect_err(bad);
            assert!(failure.to_string().contains("line 1"), "{failure}");
        }
    }
}
