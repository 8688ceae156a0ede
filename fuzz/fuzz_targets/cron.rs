#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| atelier_fuzz::targets::cron(bytes));
