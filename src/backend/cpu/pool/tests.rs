use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::*;

#[test]
fn every_member_runs_the_job_once() {
    for threads in [1, 2, 3, 8] {
        let pool = Pool::new(threads).unwrap();
        for _ in 0..50 {
            let seen = AtomicU64::new(0);
            pool.run(&|member| {
                let before = seen.fetch_add(1 << (8 * member.index), Ordering::Relaxed);
                assert_eq!(before >> (8 * member.index) & 0xFF, 0);
                Ok(())
            })
            .unwrap();
            assert_eq!(seen.load(Ordering::Relaxed), 0x0101_0101_0101_0101 >> (8 * (8 - threads)));
        }
    }
}

#[test]
fn a_barrier_separates_stages_and_its_work_is_done_once() {
    let pool = Pool::new(4).unwrap();
    let (stage, alone) = (AtomicUsize::new(0), AtomicUsize::new(0));
    pool.run(&|member| {
        for round in 0..500 {
            stage.fetch_add(1, Ordering::Relaxed);
            member.meet(|| {
                assert_eq!(stage.load(Ordering::Relaxed), (round + 1) * member.count);
                alone.fetch_add(1, Ordering::Relaxed);
            })?;
            assert_eq!(alone.load(Ordering::Relaxed), round + 1);
            member.meet(|| ())?;
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn claimed_chunks_cover_the_items_once_in_every_stage() {
    let pool = Pool::new(3).unwrap();
    let counts: Vec<AtomicUsize> = (0..101).map(|_| AtomicUsize::new(0)).collect();
    pool.run(&|member| {
        for _ in 0..20 {
            while let Some(range) = member.claim(counts.len(), 7) {
                for i in range {
                    counts[i].fetch_add(1, Ordering::Relaxed);
                }
            }
            member.meet(|| ())?;
        }
        Ok(())
    })
    .unwrap();
    assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 20));
}

#[test]
fn shares_are_contiguous_and_cover_all() {
    for (items, count) in [(0, 3), (2, 3), (10, 3), (9, 3), (1000, 7)] {
        let shares: Vec<_> = (0..count).map(|i| share(items, i, count)).collect();
        assert_eq!(shares[0].start, 0);
        assert!(shares.windows(2).all(|w| w[0].end == w[1].start && w[0].len() >= w[1].len() && w[0].len() - w[1].len() <= 1));
        assert_eq!(shares[count - 1].end, items);
    }
}

#[test]
fn a_panic_in_any_member_is_an_error_and_the_pool_goes_on() {
    let pool = Pool::new(3).unwrap();
    for culprit in [0, 1, 2] {
        let error = pool
            .run(&|member| {
                member.meet(|| ())?;
                assert_ne!(member.index, culprit, "the culprit");
                member.meet(|| ())
            })
            .unwrap_err();
        assert_eq!(error.status(), Status::Internal);
        assert!(error.message().contains("the culprit"), "{error}");
        let done = AtomicUsize::new(0);
        pool.run(&|member| {
            for _ in 0..10 {
                member.meet(|| _ = done.fetch_add(1, Ordering::Relaxed))?;
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(done.into_inner(), 10);
    }
}

#[test]
fn a_panic_in_the_work_of_a_barrier_frees_the_others() {
    let pool = Pool::new(2).unwrap();
    let error = pool.run(&|member| member.meet(|| panic!("alone"))).unwrap_err();
    assert!(error.message().contains("alone"), "{error}");
    pool.run(&|member| member.meet(|| ())).unwrap();
}

#[test]
fn sleepers_are_woken() {
    let pool = Pool::new(2).unwrap();
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(20));
        let met = AtomicUsize::new(0);
        pool.run(&|member| {
            if member.index == 0 {
                std::thread::sleep(Duration::from_millis(20));
            }
            member.meet(|| ())?;
            met.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
        assert_eq!(met.into_inner(), 2);
    }
}

#[test]
fn callers_from_several_threads_take_turns() {
    let pool = Pool::new(2).unwrap();
    let running = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    pool.run(&|member| {
                        member.meet(|| assert_eq!(running.fetch_add(1, Ordering::SeqCst), 0))?;
                        member.meet(|| _ = running.fetch_sub(1, Ordering::SeqCst))
                    })
                    .unwrap();
                }
            });
        }
    });
}

#[test]
fn pools_come_and_go() {
    for round in 0..200 {
        let pool = Pool::new(1 + round % 4).unwrap();
        if round % 2 == 0 {
            pool.run(&|member| member.meet(|| ())).unwrap();
        }
    }
}

/// FIELD_CASES 154: a host's handler must not run on our threads.
#[cfg(target_os = "linux")]
#[test]
fn workers_block_asynchronous_signals() {
    let pool = Pool::new(2).unwrap();
    let blocked = AtomicUsize::new(0);
    pool.run(&|member| {
        if member.index == 1 {
            // SAFETY: reads this thread's mask into a set of its own.
            let is_blocked = |signal| unsafe {
                let mut set: libc::sigset_t = std::mem::zeroed();
                libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut set);
                libc::sigismember(&set, signal) == 1
            };
            assert!([libc::SIGINT, libc::SIGTERM, libc::SIGALRM, libc::SIGCHLD, libc::SIGUSR1].into_iter().all(is_blocked));
            assert!(![libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE].into_iter().any(is_blocked));
            blocked.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(blocked.into_inner(), 1);
}

#[cfg(target_os = "linux")]
#[test]
fn an_idle_pool_uses_no_processor_time() {
    let pool = Pool::new(2).unwrap();
    let clock = AtomicU64::new(0);
    let read = |clock: &AtomicU64| {
        pool.run(&|member| {
            if member.index == 1 {
                let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                // SAFETY: fills in `time`.
                unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
                clock.store(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64, Ordering::Relaxed);
            }
            Ok(())
        })
        .unwrap();
        clock.load(Ordering::Relaxed)
    };
    let before = read(&clock);
    std::thread::sleep(Duration::from_millis(500));
    let used = read(&clock) - before;
    assert!(used <= 5_000_000, "{used} ns of 500 ms");
}
