#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| throng_fuzz::record(throng_fuzz::judge::overrides(input)));
