//! `size`: what a runtime takes.

use crate::bench::baseline::{Baseline, compiler, sizes};
use crate::bench::figure::Measured as Figure;
use crate::commands::no_install;
use crate::cross::Compiler;
use crate::failure::Failure;
use crate::firmware::measure::{self, Measured};
use crate::footprint::{Part, parts, per_block, total};
use crate::packages::{Permission, System};
use crate::replay::table;
use crate::stack::Depth;
use crate::step;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value, json};
use weir::Capacities;

/// A configuration with its name.
struct Configuration {
    name: &'static str,
    capacities: Capacities,
}

/// From what fits a microcontroller to what serves a whole machine.
fn configurations() -> [Configuration; 5] {
    let of = |name, capacities| Configuration { name, capacities };
    [
        of(
            "tiny",
            Capacities { streams: 4, events: 8, markers: 8, pools: 1, blocks: 64, granules: 32, labels: 0, pages: 0 },
        ),
        of(
            "small",
            Capacities {
                streams: 8,
                events: 32,
                markers: 16,
                pools: 2,
                blocks: 1024,
                granules: 512,
                labels: 16,
                pages: 4,
            },
        ),
        of("default", Capacities::default()),
        of(
            "large",
            Capacities {
                streams: 256,
                events: 1024,
                markers: 512,
                pools: 32,
                blocks: 1 << 18,
                granules: 1 << 16,
                labels: 4096,
                pages: 64,
            },
        ),
        of(
            "largest",
            Capacities {
                streams: 1024,
                events: 4096,
                markers: 1024,
                pools: 64,
                blocks: 1 << 20,
                granules: 1 << 18,
                labels: 4096,
                pages: 64,
            },
        ),
    ]
}

pub(crate) fn parser() -> Command {
    Command::new("size")
        .about("What a runtime takes: static bytes by arena, for capacities from 64 blocks to a million")
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print one object"))
        .arg(
            Arg::new("check")
                .long("check")
                .action(ArgAction::SetTrue)
                .help("Compare code and stack with xtask/bench/sizes.json: more than 3 % above it fails"),
        )
        .arg(Arg::new("update").long("update").action(ArgAction::SetTrue).help("Renew that file"))
        .arg(no_install())
        .after_help("Example:\n  cargo xtask size --json")
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    if arguments.get_flag("check") || arguments.get_flag("update") {
        let measured = measure::measure(&System::new(Permission::of(arguments)))?;
        if arguments.get_flag("update") {
            return Baseline::of(compiler(), &figures(&measured)).write(&sizes());
        }
        return compare(&measured);
    }
    let all = configurations().map(|configuration| (parts(configuration.capacities), configuration));
    let system = System::new(Permission::of(arguments));
    // Where the target can be had, what is wrong with the image is an error.
    let firmware = match Compiler::find(&system, measure::TARGET) {
        Ok(_) => Ok(measure::measure(&system)?),
        Err(reason) => Err(reason),
    };
    if arguments.get_flag("json") {
        let mut value = json(&all);
        match &firmware {
            Ok(measured) => add(&mut value, measured),
            Err(reason) => tell!("skipped: the code for bare metal ({reason})"),
        }
        say!("{value}");
        return Ok(());
    }
    crate::say::text(&text(&all));
    match firmware {
        Ok(measured) => crate::say::text(&on_bare_metal(&measured)),
        Err(reason) => step::skip("the code for bare metal", &reason),
    }
    Ok(())
}

/// What is compared: the code, and the deepest call.
fn figures(measured: &Measured) -> Vec<Figure> {
    let deepest = measured.stack.first().map_or(0, |depth| depth.bytes);
    vec![
        Figure { name: "thumbv7em_text_bytes", value: measured.text as f64 },
        Figure { name: "thumbv7em_pool_text_bytes", value: measured.pool as f64 },
        Figure { name: "thumbv7em_stack_bytes", value: deepest as f64 },
    ]
}

/// Against the baseline, and each call against the limit.
fn compare(measured: &Measured) -> Result<(), Failure> {
    let (baseline, figures) = (Baseline::read(&sizes())?, figures(measured));
    crate::say::text(&baseline.table(&figures));
    baseline.judge(&figures, "cargo xtask size --check")?;
    match measured.stack.iter().find(|depth| depth.bytes >= STACK_LIMIT) {
        Some(Depth { name, bytes, .. }) => {
            Err(Failure::Failed(format!("`{name}` takes {bytes} bytes of stack: {STACK_LIMIT} or more")))
        }
        None => Ok(()),
    }
}

/// What `ci` runs. Without the target there is nothing to compare.
pub(crate) fn regressions(system: &System) -> Result<(), Failure> {
    step::header("code and stack on bare metal");
    match Compiler::find(system, measure::TARGET) {
        Err(reason) => step::skip("code and stack on bare metal", &reason),
        // Another compiler makes other code.
        Ok(Compiler::Debian { .. }) => {
            step::skip("code and stack on bare metal", "counted with rustup's compiler only")
        }
        Ok(Compiler::Here) => compare(&measure::measure(system)?)?,
    }
    Ok(())
}

/// Fields of the object.
fn add(value: &mut Value, measured: &Measured) {
    value["thumbv7em_text_bytes"] = json!(measured.text);
    value["thumbv7em_text_limit"] = json!(TEXT_LIMIT);
    value["thumbv7em_pool_text_bytes"] = json!(measured.pool);
    let modules: Map<_, _> = measured.modules.iter().map(|(name, bytes)| (name.clone(), json!(bytes))).collect();
    value["thumbv7em_pool_text_bytes_by_module"] = Value::Object(modules);
    let stack: Map<_, _> = measured.stack.iter().map(|depth| (depth.name.clone(), json!(depth.bytes))).collect();
    value["thumbv7em_stack_bytes"] = Value::Object(stack);
    value["thumbv7em_stack_limit"] = json!(STACK_LIMIT);
}

/// What the pool's interface should take at most on a Cortex-M.
const TEXT_LIMIT: u64 = 24 << 10;

/// What a call should take at most of the stack.
const STACK_LIMIT: u64 = 2 << 10;

fn on_bare_metal(measured: &Measured) -> String {
    let modules: Vec<_> = measured.modules.iter().map(|(name, bytes)| format!("{name} {bytes}")).collect();
    let mut text = format!(
        "\non {}: {} bytes of code and constants (aim: {TEXT_LIMIT}) for {} functions of weir.h;\n\
         {} for a program with one pool, which has its log, streams and events: {}\n\
         stack, without the program's own functions ({} calls through pointers in the image; aim: {STACK_LIMIT} a call):\n",
        measure::TARGET,
        measured.text,
        measured.stack.len(),
        measured.pool,
        modules.join(", "),
        measured.indirect.iter().map(|(_, calls)| calls).sum::<usize>(),
    );
    for depth in &measured.stack {
        text += &format!("{:>8}  {}\n", depth.bytes, depth.name);
    }
    if let Some(deepest) = measured.stack.first() {
        text += &format!("the way to the bottom of {}:\n", deepest.name);
        for (name, takes) in &deepest.way {
            text += &format!("{takes:>8}  {name}\n");
        }
    }
    text
}

/// What is counted, in the order of the table.
fn counts(c: &Capacities) -> [(&'static str, usize); 8] {
    [
        ("blocks", c.blocks),
        ("streams", c.streams),
        ("events", c.events),
        ("markers", c.markers),
        ("pools", c.pools),
        ("granules", c.granules),
        ("labels", c.labels),
        ("pages", c.pages),
    ]
}

fn text(all: &[(Vec<Part>, Configuration)]) -> String {
    let row = |name: &str, cells: Vec<String>| std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>();
    let heading: Vec<&str> = std::iter::once("bytes of").chain(all.iter().map(|(_, c)| c.name)).collect();
    let mut rows = Vec::new();
    let Some((first, _)) = all.first() else { return String::new() };
    for (place, part) in first.iter().enumerate() {
        let cells = all.iter().map(|(parts, _)| parts.get(place).map_or(0, |part| part.bytes).to_string());
        rows.push(row(part.name, cells.collect()));
    }
    rows.push(row("all", all.iter().map(|(parts, _)| total(parts).to_string()).collect()));
    rows.push(row("", Vec::new()));
    for (place, (name, _)) in counts(&Capacities::default()).iter().enumerate() {
        let count = |capacities| counts(capacities).get(place).map_or(0, |(_, count)| *count);
        rows.push(row(
            &format!("number of {name}"),
            all.iter().map(|(_, c)| count(&c.capacities).to_string()).collect(),
        ));
    }
    let mut text = table(&heading, &rows);
    text += &format!("a block takes {} bytes, its part of the lookup included\n", per_block());
    text
}

fn json(all: &[(Vec<Part>, Configuration)]) -> Value {
    let one = |(parts, configuration): &(Vec<Part>, Configuration)| {
        let bytes: Map<_, _> = parts.iter().map(|part| (part.name.replace(' ', "_"), json!(part.bytes))).collect();
        let capacities: Map<_, _> =
            counts(&configuration.capacities).iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
        let value = json!({ "capacities": capacities, "bytes": bytes, "total": total(parts) });
        (configuration.name.to_owned(), value)
    };
    Value::Object(all.iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiny() -> [(Vec<Part>, Configuration); 1] {
        let [tiny, ..] = configurations();
        [(parts(tiny.capacities), tiny)]
    }

    #[test]
    fn the_smallest_fits_a_microcontroller() {
        let [(parts, _)] = tiny();
        assert!(total(&parts) < 64 << 10, "{}", total(&parts));
    }

    #[test]
    fn the_table_and_the_object_hold_the_same_numbers() {
        let all = tiny();
        let (text, json) = (text(&all), json(&all));
        let [(parts, _)] = &all;
        for part in parts {
            let line = format!("{} {}", part.name, part.bytes);
            let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(text.lines().any(|found| words(found) == line), "{line}\n{text}");
            assert_eq!(json["tiny"]["bytes"][part.name.replace(' ', "_")], part.bytes);
        }
        assert_eq!(json["tiny"]["total"], total(parts));
        assert_eq!(json["tiny"]["capacities"]["blocks"], 64);
    }
}
