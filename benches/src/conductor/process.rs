//! What the system tells of a process; nothing where there is no `/proc`.

use std::fs;

/// Processor time so far, user and system, in seconds.
pub(super) fn cpu_seconds(pid: u32) -> Option<f64> {
    let ticks = ticks(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)?;
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// Begins the count of its peak memory anew.
pub(super) fn forget_peak(pid: u32) {
    // Where this is refused, the peak is that of the whole process.
    let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
}

/// Most memory that it had resident, in megabytes.
pub(super) fn peak_mb(pid: u32) -> Option<f64> {
    high_water_mb(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

/// Processor, memory and kernel of this machine, in one line.
pub(super) fn machine() -> Option<String> {
    let read = |file: &str| fs::read_to_string(file).ok();
    let model = named(&read("/proc/cpuinfo")?, "model name")?;
    let kilobytes: f64 = named(&read("/proc/meminfo")?, "MemTotal")?.strip_suffix("kB")?.trim().parse().ok()?;
    let kernel = read("/proc/sys/kernel/osrelease")?;
    Some(format!("{model}, {:.0} GB of memory, Linux {}", kilobytes / 1_048_576.0, kernel.trim()))
}

/// What stands behind a name and a colon, the first time.
fn named(text: &str, name: &str) -> Option<String> {
    let of_line = |line: &str| Some(line.strip_prefix(name)?.trim_start().strip_prefix(':')?.trim().to_owned());
    text.lines().find_map(of_line)
}

/// The fields 14 and 15; the second one, a name in brackets, can hold blanks.
fn ticks(stat: &str) -> Option<u64> {
    let behind_name = stat.rsplit_once(')')?.1;
    let mut fields = behind_name.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

fn high_water_mb(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_behind_a_name_of_any_kind() {
        let stat = "4242 (a ) b) S 1 4242 4242 0 -1 4194560 500 0 0 0 120 30 7 7 20 0 9 0 100 1000 200";
        assert_eq!(ticks(stat), Some(150));
        assert_eq!(ticks("4242 (a"), None);
    }

    #[test]
    fn peak_memory_is_in_megabytes() {
        assert_eq!(high_water_mb("Name:\tx\nVmPeak:\t  9 kB\nVmHWM:\t  2048 kB\n"), Some(2.0));
        assert_eq!(high_water_mb("Name:\tx\n"), None);
    }

    #[test]
    fn a_value_is_found_by_its_name() {
        let text = "processor\t: 0\nmodel name\t: A processor\nmodel name\t: Another\n";
        assert_eq!(named(text, "model name").as_deref(), Some("A processor"));
        assert_eq!(named(text, "model"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_tells_of_this_process() {
        let pid = std::process::id();
        assert!(peak_mb(pid).is_some_and(|peak| peak > 1.0));
        assert!(cpu_seconds(pid).is_some());
    }
}
