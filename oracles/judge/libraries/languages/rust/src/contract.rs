//! What the adapters of Rust libraries share: the environment in, events out, `stop`.

use std::env;
use std::fmt::Write as _;
use std::io::{BufRead, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub fn text(name: &str, otherwise: &str) -> String {
    env::var(name).ok().filter(|value| !value.is_empty()).unwrap_or_else(|| otherwise.to_string())
}

pub fn duration(name: &str, otherwise: u64) -> Duration {
    let value = text(name, &otherwise.to_string()).parse();
    Duration::from_millis(value.unwrap_or_else(|_| fail(&format!("{name} is no number"))))
}

/// Ends the program because of what it cannot do: an assignor that its library lacks.
pub fn fail(reason: &str) -> ! {
    eprintln!("{reason}");
    std::process::exit(2);
}

/// Prints an event; `more` are further fields as JSON, each after a comma.
pub fn tell(event: &str, more: &str) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let mut out = std::io::stdout().lock();
    let head = format!("{{\"schema\": \"groupcheck.event/1\", \"time\": {now}");
    let _ = writeln!(out, "{head}, \"event\": \"{event}\"{more}}}");
    let _ = out.flush();
}

/// A field with a text, as JSON.
pub fn field(name: &str, value: &str) -> String {
    let mut quoted = String::new();
    for c in value.chars().take(300) {
        match c {
            '"' | '\\' => drop(write!(quoted, "\\{c}")),
            c if c < ' ' => quoted.push(' '),
            c => quoted.push(c),
        }
    }
    format!(", \"{name}\": \"{quoted}\"")
}

/// True when the line `stop`, or the end, has come on stdin.
pub fn stopped() -> Arc<AtomicBool> {
    let stopped = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&stopped);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            if line.map_or(true, |line| line == "stop") {
                break;
            }
        }
        told.store(true, Ordering::SeqCst);
    });
    stopped
}
