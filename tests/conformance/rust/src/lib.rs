//! A library of tensors in Rust, written from docs/spec.md alone. Numbers in comments are its rules. `tensor.mjs` adds
//! what napi-rs has no names for: methods with symbols as keys, and the checks of requests.

mod consumer;
mod external;
mod layout;
mod producer;
mod structs;
