fn main() {
    napi_build::setup();
    // The deleter must stay loaded after the last worker has ended (7.5).
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
