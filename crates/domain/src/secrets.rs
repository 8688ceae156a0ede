//! What opens doors in a home: keys, tokens and histories under the names that programs give them.
//!
//! An instance that is given to somebody else must not take them along. The list is of names alone; what
//! somebody has put elsewhere is theirs to remove, and the page that asks says so.

/// Paths below a home, folders with all that is in them. A star stands for any characters within one name.
pub const SECRETS: [&str; 58] = [
    ".ssh",
    ".gnupg",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".pypirc",
    ".npmrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/glab-cli",
    ".aws",
    ".azure",
    ".boto",
    ".s3cfg",
    ".config/gcloud",
    ".config/rclone",
    ".config/doctl",
    ".kube",
    ".docker/config.json",
    ".config/containers/auth.json",
    ".cargo/credentials*",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".kaggle",
    ".config/kaggle",
    ".huggingface",
    ".cache/huggingface/token*",
    ".cache/huggingface/stored_tokens",
    ".config/wandb",
    ".local/share/keyrings",
    ".jupyter/*token*",
    ".jupyter/*password*",
    ".jupyter/jupyter_server_config.json",
    ".local/share/jupyter/runtime",
    ".local/share/jupyter/*secret*",
    ".local/share/code-server/heartbeat",
    ".config/code-server",
    ".ipython/profile_default/security",
    ".ipython/profile_default/history.sqlite*",
    ".*_history",
    ".local/share/fish/fish_history",
    ".viminfo",
    ".lesshst",
    ".xonsh_history*",
    ".Rhistory",
    ".vault-token",
    ".databrickscfg",
    ".terraform.d/credentials.tfrc.json",
    ".dbt",
    ".snowflake",
    ".mlflow/credentials",
    ".config/github-copilot",
    ".claude*",
    ".codex",
    ".vscode-server",
    ".local/share/code-server/User/globalStorage",
    ".Renviron",
];

/// Whether a name fits one part of a path of the list.
pub fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(first) = parts.next() else { return false };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_with_and_without_stars() {
        for (pattern, name, does) in [
            (".netrc", ".netrc", true),
            (".netrc", ".netrc2", false),
            (".*_history", ".bash_history", true),
            (".*_history", ".history", false),
            (".*_history", "bash_history", false),
            ("*token*", "my_token.json", true),
            ("*token*", "tok", false),
            ("credentials*", "credentials.toml", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "acb", false),
        ] {
            assert_eq!(fits(pattern, name), does, "{pattern} {name}");
        }
    }

    #[test]
    fn every_path_stays_below_the_home() {
        for path in SECRETS {
            assert!(
                !path.starts_with('/') && path.split('/').all(|part| !part.is_empty() && part != ".." && part != ".")
            );
        }
    }
}
