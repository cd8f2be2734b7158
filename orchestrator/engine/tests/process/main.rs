//! placeholder
#[test]
fn bin() { println!("{}", env!("CARGO_BIN_EXE_misbehave")); }
