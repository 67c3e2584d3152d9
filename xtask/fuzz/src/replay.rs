//! Allocation logs, as `cargo xtask replay` reads and replays them.

/// Which switches a replay has on, and how far the device is behind.
const POLICIES: [&str; 5] = ["same", "event", "opportunistic", "internal", "all"];
const LAGS: [&str; 4] = ["0", "1", "7", "none"];
/// A pool that is too small for much, and one that is not. Memory for the simulation grows with them.
const LIMITS: [&str; 2] = ["16MiB", "1GiB"];

/// Rows of the longest log that is replayed: the order between as many streams as rows takes memory of their square.
const MOST_ROWS: usize = 400;

/// Reads a log in CSV and replays it on the simulated device, which checks every access.
pub fn replay_csv(bytes: &[u8]) {
    let rows = bytes.iter().filter(|byte| **byte == b'\n').count();
    if rows > MOST_ROWS {
        return;
    }
    // The input is a log and nothing else, so its length chooses how it is replayed.
    let [policy, lag, limit] = chosen(bytes.len());
    let options = ["--policy", policy, "--lag", lag, "--limit", limit, "--json"];
    match xtask::replay_text(bytes, &options) {
        Ok(object) => assert!(object.starts_with('{'), "{object}"),
        Err(refusal) => assert!(is_refusal(&refusal), "{policy}, {lag}, {limit}: {refusal}"),
    }
}

fn chosen(length: usize) -> [&'static str; 3] {
    let (policy, rest) = (length % POLICIES.len(), length / POLICIES.len());
    let (lag, rest) = (rest % LAGS.len(), rest / LAGS.len());
    [POLICIES[policy], LAGS[lag], LIMITS[rest % LIMITS.len()]]
}

/// What is said of a log that cannot be read, by its place. Whatever could be read can be replayed as well.
fn is_refusal(text: &str) -> bool {
    let place = ["line ", "the file", "byte ", "entry "].iter().any(|place| text.starts_with(place));
    place && text.contains("expected ")
}
