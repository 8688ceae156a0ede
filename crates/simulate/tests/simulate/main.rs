//! All integration tests of the simulator, in one program so that it is linked once. `cargo test
//! -p atelier-simulate --test simulate forecast::` runs those of one module.

mod bad_input;
mod forecast;
mod runs;
mod scenarios;
mod server;
mod support;
