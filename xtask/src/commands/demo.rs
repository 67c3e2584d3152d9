//! `demo`: the main job, on the log of a real training run.

use crate::commands::{no_install, replay, viz};
use crate::failure::Failure;
use crate::packages::{Permission, System};
use crate::project;
use crate::replay::{Baseline, On, Options, Summary, replay_with_streams_around, synchronous, table};
use clap::{Arg, ArgAction, ArgMatches, Command};
use weir::trace::Source;
use weir_viz::cli::Picture;

pub(crate) fn parser() -> Command {
    Command::new("demo")
        .about("Replay a real training run with kernels on three streams, and draw what the pool did")
        .arg(
            Arg::new("open")
                .long("open")
                .action(ArgAction::SetTrue)
                .help("Open the viewer's window at the end; builds it first, which takes minutes"),
        )
        .arg(no_install())
        .after_help("Example:\n  cargo xtask demo --open")
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let folder = project::output("demo");
    let (log, picture) = (folder.join("trace.log"), folder.join("timeline.png"));
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file("create", &folder, error))?;
    let program = replay::read(&project::root().join("examples/traces/resnet50_train.csv"), None)?;
    let options = Options { log: Some(log.clone()), ..Options::new(On::best()) };
    say!(
        "ResNet-50, 8 training steps: {} rows, {} allocated in all; kernels write and check every byte",
        program.ops.len(),
        crate::size::shown(program.total())
    );
    say!("on a pool, compute with a copy and a communication stream around it ...");
    let summary = replay_with_streams_around(&program, &options)?;
    say!("without a pool, the log's own rows: allocate, work, synchronise the stream, free ...");
    let baseline = synchronous(&program, &options)?;
    say!("\n{}", compared(&summary, &baseline));
    summary.notes().iter().for_each(|note| say!("note: {note}"));
    say!("event log: {}", project::shown(&log));
    viz::draw(&log, &picture, &Picture::default())?;
    if arguments.get_flag("open") {
        return viz::open(&System::new(Permission::of(arguments)), &[&log], &[log.clone().into_os_string()]);
    }
    say!("look at it: cargo xtask viz {}", project::shown(&log));
    Ok(())
}

fn compared(summary: &Summary, baseline: &Baseline) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, pool: String, synchronous: String| rows.push(vec![name.to_owned(), pool, synchronous]);
    let sizes = crate::size::shown;
    row("events", summary.events.to_string(), baseline.events.to_string());
    row("mallocs", summary.mallocs.to_string(), baseline.mallocs.to_string());
    row("frees", (summary.frees + summary.freed_at_end).to_string(), baseline.frees.to_string());
    row("peak used", sizes(summary.peak_used), sizes(baseline.peak_used));
    row("peak reserved", sizes(summary.peak_reserved), sizes(baseline.peak_reserved));
    row("reserved / used", format!("{:.3}", summary.ratio()), format!("{:.3}", baseline.ratio()));
    for (source, count) in Source::ALL.iter().zip(summary.reuse) {
        row(&format!("reuse: {}", source.name().replace('_', " ")), count.to_string(), "-".into());
    }
    row("refused", summary.refused.to_string(), "0".into());
    row("bytes checked", sizes(summary.bytes_checked), sizes(baseline.bytes_checked));
    let counted = |mine: u64, theirs: u64| format!("{theirs} ({})", times(mine as f64, theirs as f64));
    let (mine, theirs) = (summary.calls.synchronise, baseline.calls.synchronise);
    row("synchronisations", mine.to_string(), counted(mine, theirs));
    let (mine, theirs) = (summary.calls.total(), baseline.total_calls());
    row("driver calls", mine.to_string(), counted(mine, theirs));
    let (mine, theirs) = (summary.measured.seconds, baseline.seconds);
    row("time", format!("{mine:.1} s"), format!("{theirs:.1} s ({})", times(mine, theirs)));
    table(&["", "weir", "synchronous"], &rows)
}

/// How many times the first number the second is: `3.2 x`.
fn times(one: f64, other: f64) -> String {
    if one > 0.0 { format!("{:.1} x", other / one) } else { "-".into() }
}
