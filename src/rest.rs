//! Every address of the REST API, `/api/v1`, and what answers there. The handlers are with their nouns; what
//! they share is in `server/rest`.

use axum::extract::DefaultBodyLimit;
use axum::routing::{delete, get, post};

use crate::server::rest::{ROOT, Routes};

/// Every address under [`ROOT`].
pub fn routes() -> Routes {
    vec![
        ("/v1", get(crate::account::rest::show)),
        ("/v1/", get(crate::account::rest::show)),
        ("/v1/sizes", get(crate::sizes::rest::list)),
        (
            "/v1/sizes/{name}",
            get(crate::sizes::rest::show).put(crate::sizes::rest::put).delete(crate::sizes::rest::delete),
        ),
        ("/v1/clusters", get(crate::clusters::rest::list).post(crate::clusters::rest::create)),
        (
            "/v1/clusters/{name}",
            get(crate::clusters::rest::show).patch(crate::clusters::rest::change).delete(crate::clusters::rest::delete),
        ),
        ("/v1/clusters/{name}/pause", post(crate::clusters::rest::pause)),
        ("/v1/clusters/{name}/resume", post(crate::clusters::rest::resume)),
        (
            "/v1/clusters/{name}/schedules",
            get(crate::clusters::rest::minimums::list).post(crate::clusters::rest::minimums::add),
        ),
        (
            "/v1/clusters/{name}/schedules/{id}",
            get(crate::clusters::rest::minimums::show)
                .patch(crate::clusters::rest::minimums::change)
                .delete(crate::clusters::rest::minimums::delete),
        ),
        ("/v1/clusters/{name}/nodes", get(crate::clusters::rest::nodes::of_cluster)),
        ("/v1/instances/{name}/schedules", get(crate::schedules::rest::list).post(crate::schedules::rest::add)),
        (
            "/v1/instances/{name}/schedules/{id}",
            get(crate::schedules::rest::show)
                .patch(crate::schedules::rest::change)
                .delete(crate::schedules::rest::delete),
        ),
        ("/v1/instances/{name}/schedules/{id}/skip", post(crate::schedules::rest::skip)),
        ("/v1/schedules/preview", post(crate::schedules::rest::preview)),
        ("/v1/instances", get(crate::instances::rest::list).post(crate::instances::rest::create)),
        (
            "/v1/instances/{name}",
            get(crate::instances::rest::show)
                .patch(crate::instances::rest::change)
                .delete(crate::instances::rest::delete),
        ),
        ("/v1/instances/{name}/start", post(crate::instances::rest::actions::start)),
        ("/v1/instances/{name}/stop", post(crate::instances::rest::actions::stop)),
        ("/v1/instances/{name}/restart", post(crate::instances::rest::actions::restart)),
        ("/v1/instances/{name}/rebuild", post(crate::instances::rest::actions::rebuild)),
        ("/v1/instances/{name}/resize", post(crate::instances::rest::actions::resize)),
        ("/v1/instances/{name}/extend", post(crate::instances::rest::actions::extend)),
        ("/v1/instances/{name}/postpone", post(crate::instances::rest::actions::postpone)),
        ("/v1/instances/{name}/skip-stop", post(crate::instances::rest::actions::skip_stop)),
        ("/v1/instances/{name}/accept-scripts", post(crate::instances::rest::actions::accept)),
        (
            "/v1/instances/{name}/scripts",
            get(crate::instances::rest::actions::scripts).put(crate::instances::rest::actions::set_scripts),
        ),
        ("/v1/instances/{name}/apps", get(crate::instances::rest::actions::apps)),
        (
            "/v1/instances/{name}/apps/{app}",
            get(crate::instances::rest::apps::show)
                .put(crate::instances::rest::apps::put)
                .delete(crate::instances::rest::apps::delete),
        ),
        ("/v1/instances/{name}/apps/{app}/restart", post(crate::instances::rest::apps::restart)),
        ("/v1/instances/{name}/freeze", get(crate::environments::rest::freeze)),
        ("/v1/environments", get(crate::environments::rest::list).post(crate::environments::rest::create)),
        ("/v1/environments/compare", get(crate::environments::rest::compare)),
        ("/v1/environments/{name}", get(crate::environments::rest::show).delete(crate::environments::rest::delete)),
        ("/v1/environments/{name}/versions", post(crate::environments::rest::add_version)),
        ("/v1/environments/{name}/versions/{version}", get(crate::environments::rest::show_version)),
        ("/v1/environments/{name}/versions/{version}/build", post(crate::environments::rest::build)),
        ("/v1/environments/{name}/versions/{version}/log", get(crate::environments::rest::log)),
        ("/v1/instances/{name}/ssh", get(crate::instances::rest::ssh::show).put(crate::instances::rest::ssh::switch)),
        (
            "/v1/instances/{name}/token-scope",
            get(crate::instances::rest::token_scope::of_instance)
                .put(crate::instances::rest::token_scope::set_instance),
        ),
        (
            "/v1/clusters/{name}/token-scope",
            get(crate::instances::rest::token_scope::of_cluster).put(crate::instances::rest::token_scope::set_cluster),
        ),
        ("/v1/ssh-keys", get(crate::instances::rest::ssh::keys).post(crate::instances::rest::ssh::add_key)),
        ("/v1/ssh-keys/{id}", axum::routing::delete(crate::instances::rest::ssh::remove_key)),
        (
            "/v1/instances/{name}/transfer",
            get(crate::instances::rest::transfer::question).post(crate::instances::rest::transfer::give),
        ),
        (
            "/v1/instances/{name}/shares",
            get(crate::instances::rest::sharing::list).put(crate::instances::rest::sharing::put),
        ),
        ("/v1/instances/{name}/shares/{app}/{person}", axum::routing::delete(crate::instances::rest::sharing::revoke)),
        ("/v1/shared", get(crate::instances::rest::sharing::with_me)),
        ("/v1/budgets", get(crate::cost::rest::budgets::list).put(crate::cost::rest::budgets::put)),
        ("/v1/quota", get(crate::quota::rest::list).put(crate::quota::rest::put)),
        ("/v1/shares", get(crate::quota::rest::fair_shares::list).put(crate::quota::rest::fair_shares::put)),
        ("/v1/cost", get(crate::cost::rest::show)),
        ("/v1/nodes", get(crate::clusters::rest::nodes::list)),
        ("/v1/nodes/{id}", get(crate::clusters::rest::nodes::show)),
        ("/v1/nodes/{id}/evict", post(crate::jobs::rest::actions::evict_node)),
        // Reads its body piece by piece and has its own limits.
        (
            "/v1/files",
            post(crate::jobs::rest::files::keep).layer(DefaultBodyLimit::disable()).get(crate::files::rest::list),
        ),
        ("/v1/files/stat/{*path}", get(crate::files::rest::stat)),
        (
            "/v1/files/content/{*path}",
            get(crate::files::rest::get)
                .put(crate::files::rest::put)
                .delete(crate::files::rest::delete)
                .layer(DefaultBodyLimit::disable()),
        ),
        ("/v1/files/folders", post(crate::files::rest::make_folder)),
        ("/v1/files/move", post(crate::files::rest::shift)),
        ("/v1/files/zip/{*path}", get(crate::files::rest::zip)),
        ("/v1/files/uploads", post(crate::files::rest::begin)),
        (
            "/v1/files/uploads/{id}",
            get(crate::files::rest::look)
                .put(crate::files::rest::add)
                .delete(crate::files::rest::abandon)
                .layer(DefaultBodyLimit::disable()),
        ),
        ("/v1/files/usage", get(crate::files::rest::usage)),
        ("/v1/files/trash", get(crate::files::rest::trash).delete(crate::files::rest::empty_trash)),
        ("/v1/files/trash/{id}", delete(crate::files::rest::purge)),
        ("/v1/files/trash/{id}/restore", post(crate::files::rest::restore)),
        ("/v1/jobs", get(crate::jobs::rest::list).post(crate::jobs::rest::submit)),
        ("/v1/jobs/what-if", post(crate::jobs::rest::what_if::try_job)),
        ("/v1/jobs/{id}", get(crate::jobs::rest::show)),
        ("/v1/jobs/{id}/cancel", post(crate::jobs::rest::actions::cancel)),
        ("/v1/jobs/{id}/hold", post(crate::jobs::rest::actions::hold)),
        ("/v1/jobs/{id}/release", post(crate::jobs::rest::actions::release)),
        ("/v1/jobs/{id}/move", post(crate::jobs::rest::actions::shift)),
        ("/v1/jobs/{id}/evict", post(crate::jobs::rest::actions::evict)),
        ("/v1/arrays/{id}/cancel", post(crate::jobs::rest::actions::cancel_array)),
        ("/v1/arrays/{id}/hold", post(crate::jobs::rest::actions::hold_array)),
        ("/v1/arrays/{id}/release", post(crate::jobs::rest::actions::release_array)),
        ("/v1/jobs/{id}/log", get(crate::jobs::rest::log::read)),
    ]
}

/// The addresses of the API, for the test that walks them all.
pub fn paths() -> Vec<String> {
    routes().into_iter().map(|(path, _)| format!("{ROOT}{path}")).collect()
}
