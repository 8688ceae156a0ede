//! What is fuzzed. The tests of the product replay the kept corpus with the same functions
//! (`tests/http/corpus.rs`).

pub mod targets;
