//! What the CPU backend does to a process that is not using it: its threads sleep, and are as many as were asked for.

use std::time::Duration;

use tactus::coordinator::{Config, DispatchOptions, Input, Request, RuntimeCoordinator, Sequence, SequenceOptions};

/// CPU time this process has used, on all its threads.
fn cpu_time() -> Duration {
    // SAFETY: a plain struct that the call fills in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &mut usage), 0);
        usage
    };
    let spent = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    spent(usage.ru_utime) + spent(usage.ru_stime)
}

fn threads() -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks.map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default().trim().to_owned()).collect()
}

fn run(coordinator: &RuntimeCoordinator) {
    let options = SequenceOptions { max_generate_length: Some(30), ignore_eos: Some(true), ..SequenceOptions::default() };
    let sequence = Sequence { options, ..Sequence::new(Input::Ids((5..60).collect())) };
    let request = Request { sequences: vec![sequence], ..Request::default() };
    coordinator.dispatch_request(&request, &DispatchOptions::default(), None).unwrap();
    coordinator.take_rank_response(0).unwrap();
}

/// Between requests a coordinator costs at most 1 % of one processor, and it never has more threads than it was given. CPU time is
/// counted, so a busy machine changes nothing.
#[test]
fn an_idle_coordinator_sleeps_and_keeps_to_its_threads() {
    for count in [1, 2, 4] {
        let config = Config { engine_dir: "tests/data/gguf/llama-q4_k.gguf".into(), cpu_threads: count, ..Config::default() };
        let coordinator = RuntimeCoordinator::new(config).unwrap();
        run(&coordinator);
        let workers = threads().iter().filter(|name| name.starts_with("tactus-cpu")).count();
        assert_eq!(workers, count - 1, "{:?}: the caller is the first of {count}", threads());
        // They look for work for a moment before they sleep.
        std::thread::sleep(Duration::from_millis(50));
        let before = cpu_time();
        std::thread::sleep(Duration::from_secs(1));
        let spent = cpu_time() - before;
        assert!(spent <= Duration::from_millis(10), "{count} threads: {spent:?} of CPU time in a second of rest");
        run(&coordinator);
    }
    let left: Vec<_> = threads().into_iter().filter(|name| name.starts_with("tactus")).collect();
    assert!(left.is_empty(), "threads of coordinators that are gone: {left:?}");
}
