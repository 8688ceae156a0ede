//! The agent that this program carries, if it was built with one; see `build.rs`.

use atelier_engine::drivers::local::Carried;

include!(concat!(env!("OUT_DIR"), "/carried.rs"));
