//! The `atelier` binary: one program, several roles.

use std::process::ExitCode;

/// A page is thousands of small strings, for which the C library's allocator takes a third of the page's
/// time. This one takes less and, unlike others that do, gives the large blocks of password hashing back at
/// once.
#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    // What runs on nodes is small: it must not even look at what the server needs.
    let asked = atelier::cli::on_a_node(std::env::args_os().skip(1));
    match asked.or_else(|| atelier_client::run(std::env::args_os().skip(1))) {
        Some(code) => code,
        None => atelier::cli::main(),
    }
}
