//! Speed of a model on the device, for benches/RESULTS.md. Runs where TACTUS_BENCH_MODEL names a model, with `--ignored`.

use tactus::coordinator::{Config, Device, DispatchOptions, Input, Request, RuntimeCoordinator, Sequence, SequenceOptions};

fn numbers(name: &str, default: &[usize]) -> Vec<usize> {
    match std::env::var(name) {
        Ok(list) => list.split(',').map(|n| n.parse().unwrap()).collect(),
        Err(_) => default.to_vec(),
    }
}

#[test]
#[ignore = "prints figures; needs TACTUS_BENCH_MODEL"]
fn decode_and_prefill() {
    let model = std::env::var("TACTUS_BENCH_MODEL").expect("TACTUS_BENCH_MODEL names a model");
    let gen_tokens = 64;
    let artifacts = std::cell::RefCell::new(None);
    for batch in numbers("TACTUS_BENCH_BATCH", &[1, 8]) {
        for prompt in numbers("TACTUS_BENCH_PROMPT", &[128]) {
            let started = std::time::Instant::now();
            let config = Config {
                engine_dir: model.clone().into(),
                artifacts: artifacts.borrow().clone(),
                device: Device::Cuda,
                max_batch: batch,
                max_sequence_length: prompt + gen_tokens + 1,
                prefill_chunk: 4096,
                ..Config::default()
            };
            let coordinator = RuntimeCoordinator::new(config).unwrap();
            *artifacts.borrow_mut() = Some(coordinator.artifacts().clone());
            println!("{}: made in {:.1} s", coordinator.backend_description(), started.elapsed().as_secs_f64());
            let vocab = coordinator.limits().vocab_size;
            let sequence = |b: usize| {
                let ids = (0..prompt).map(|i| (((i + 1) * 7919 + b * 104_729) % vocab) as i32).collect();
                let options = SequenceOptions {
                    max_generate_length: Some(gen_tokens as i64),
                    ignore_eos: Some(true),
                    temperature: Some(0.0),
                    ..Default::default()
                };
                Sequence { options, ..Sequence::new(Input::Ids(ids)) }
            };
            let mut said = Vec::new();
            for graph in [false, true] {
                if graph {
                    let started = std::time::Instant::now();
                    assert!(coordinator.capture_decoding_cuda_graph(0).unwrap());
                    println!("captured in {:.2} s", started.elapsed().as_secs_f64());
                }
                let (mut prefill, mut decode, mut first) = (Vec::new(), Vec::new(), Vec::new());
                for run in 0..4 {
                    let request = Request { sequences: (0..batch).map(sequence).collect(), ..Request::default() };
                    let options = DispatchOptions { profiling: true, ..Default::default() };
                    coordinator.dispatch_request(&request, &options, None).unwrap();
                    let response = coordinator.take_rank_response(0).unwrap();
                    let timings = response.timings.unwrap();
                    said.push(response.sequences.iter().map(|s| s.output_ids.clone()).collect::<Vec<_>>());
                    if run > 0 {
                        prefill.push(timings.prefill.as_secs_f64() * 1e3);
                        decode.push(timings.decode_tokens as f64 / timings.decode.as_secs_f64());
                        first.push(timings.first_token.as_secs_f64() * 1e3);
                    }
                }
                let median = |values: &mut Vec<f64>| {
                    values.sort_by(f64::total_cmp);
                    values[values.len() / 2]
                };
                println!(
                    "batch {batch}, prompt {prompt}, {}: decode {:.1} tokens/s, prefill {:.2} ms, first token {:.2} ms",
                    if graph { "graphs" } else { "eager" },
                    median(&mut decode),
                    median(&mut prefill),
                    median(&mut first)
                );
            }
            assert!(said.windows(2).all(|pair| pair[0] == pair[1]), "runs of one request differ");
        }
    }
}
