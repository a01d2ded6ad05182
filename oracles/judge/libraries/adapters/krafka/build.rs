//! Tells the program which version of krafka it is compiled with: the lock says it.

fn main() {
    println!("cargo:rerun-if-changed=Cargo.lock");
    let lock = std::fs::read_to_string("Cargo.lock").unwrap_or_default();
    let after = lock.split("name = \"krafka\"\nversion = \"").nth(1).unwrap_or("\"");
    let version = after.split('"').next().unwrap_or("");
    println!("cargo:rustc-env=KRAFKA_VERSION={version}");
}
