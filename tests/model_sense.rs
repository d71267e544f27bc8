//! What the two real models of `make models` say when they run freely and greedily: answers that hold for any sane run of them, not
//! their exact words, which differ in the last bits of an instruction set. Skipped where the models have not been fetched.

use std::collections::HashSet;
use std::path::PathBuf;

use tactus::coordinator::{Config, DispatchOptions, Input, Request, RuntimeCoordinator, Sequence, SequenceOptions};
use tactus::decoding::FinishReason;
use tactus::rank::SequenceResult;
use tactus::text::Message;

/// A prompt, and what its answer must have, in lower case: one of the alternatives of every entry.
type Expectation = (&'static str, &'static [&'static [&'static str]]);

/// Answers in the order of the prompts; `None` where the model has not been fetched.
fn answers(model: &str, prompts: &[Expectation], input: impl Fn(&str) -> Input) -> Option<Vec<SequenceResult>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/models").join(model);
    if !path.exists() {
        eprintln!("skipped: {} is not there; `make models` fetches it", path.display());
        return None;
    }
    let config = Config { engine_dir: path, cpu_threads: 2, max_sequence_length: 256, ..Config::default() };
    let whole = RuntimeCoordinator::new(config).unwrap();
    let defaults =
        SequenceOptions { temperature: Some(0.0), max_generate_length: Some(LIMIT as i64), ..SequenceOptions::default() };
    let sequences = prompts.iter().map(|(prompt, _)| Sequence::new(input(prompt))).collect();
    let request = Request { sequences, defaults, ..Request::default() };
    whole.dispatch_request(&request, &DispatchOptions::default(), None).unwrap();
    Some(whole.take_rank_response(0).unwrap().sequences)
}

const LIMIT: usize = 32;

/// Share of the sequences of three tokens that are new.
fn novelty(ids: &[i32]) -> f64 {
    let all: Vec<_> = ids.windows(3).collect();
    all.iter().collect::<HashSet<_>>().len() as f64 / all.len().max(1) as f64
}

fn make_sense(prompts: &[Expectation], results: &[SequenceResult]) {
    assert_eq!(prompts.len(), results.len());
    for ((prompt, expected), result) in prompts.iter().zip(results) {
        let (text, ids) = (&result.text, &result.output_ids);
        let told = format!("{prompt:?}: {text:?} ({:?})", result.finish_reason);
        match result.finish_reason {
            FinishReason::EndOfSequence => assert!(ids.len() <= LIMIT, "{told}"),
            FinishReason::MaxLength => assert_eq!(ids.len(), LIMIT, "{told}"),
            _ => panic!("{told}"),
        }
        assert!(!text.contains('\u{FFFD}') && !text.contains("<|") && !text.contains("<start_of_turn>"), "{told}");
        let lower = text.to_lowercase();
        for alternatives in *expected {
            assert!(alternatives.iter().any(|word| lower.contains(word)), "{told}, expected one of {alternatives:?}");
        }
        assert!(novelty(ids) >= 0.35, "{told}: only {:.0} % of its trigrams are new", 100.0 * novelty(ids));
        assert!(ids.windows(6).all(|run| run.iter().any(|id| *id != run[0])), "{told}: one token over and over");
    }
}

#[test]
fn the_repetition_statistic_tells_a_loop_from_a_text() {
    let text: Vec<i32> = (0..40).map(|i| i * i % 31).collect();
    let looped: Vec<i32> = (0..40).map(|i| i % 7).collect();
    assert!(novelty(&text) > 0.7 && novelty(&looped) < 0.3);
}

#[test]
fn smollm2_answers_ten_questions() {
    const PROMPTS: [Expectation; 10] = [
        ("What is the capital of France? Answer in one sentence.", &[&["paris"]]),
        ("List three primary colors.", &[&["red"], &["blue"], &["yellow", "green"]]),
        ("Write a Python function that returns the sum of a list of numbers.", &[&["def "], &["sum"], &["return"]]),
        ("Explain photosynthesis in two sentences.", &[&["light", "sun"], &["plant", "carbon", "energy"]]),
        ("What is 2 + 3?", &[&["5", "five"]]),
        ("Write one sentence about a dog.", &[&["dog"]]),
        ("Name the planets of the solar system.", &[&["mars"], &["jupiter"], &["saturn"]]),
        ("Who wrote Romeo and Juliet?", &[&["shakespeare"]]),
        ("What is the opposite of hot?", &[&["cold", "cool"]]),
        ("Translate to French: Good morning, my friend.", &[&["bonjour", "bon matin"]]),
    ];
    let chat = |prompt: &str| Input::Messages(vec![Message::new("user", prompt)]);
    let Some(results) = answers("SmolLM2-135M-Instruct.Q4_1.gguf", &PROMPTS, chat) else { return };
    make_sense(&PROMPTS, &results);
    // A model tuned for chats ends its short answers itself.
    for short in [0, 4, 5] {
        assert_eq!(results[short].finish_reason, FinishReason::EndOfSequence, "{:?}", results[short].text);
    }
}

/// A base model: it goes on with what it is given.
#[test]
fn gemma3_goes_on_with_ten_beginnings() {
    const PROMPTS: [Expectation; 10] = [
        ("The three longest rivers of France are", &[&["loire", "rhône", "seine", "garonne"]]),
        ("def fibonacci(n):\n    \"\"\"Return the nth Fibonacci number.\"\"\"\n", &[&["return"], &["if n"]]),
        ("English: The weather is nice today.\nFrench:", &[&["aujourd"], &["temps", "météo", "fait"]]),
        ("Once upon a time, in a small village,", &[&[" was ", " lived ", " there "], &[" he ", " she ", " they ", " a "]]),
        ("Water boils at a temperature of", &[&["100", "212"]]),
        ("Romeo and Juliet was written by", &[&["shakespeare"]]),
        ("Monday, Tuesday, Wednesday,", &[&["thursday, friday, saturday"]]),
        ("1, 2, 3, 4, 5, 6,", &[&["7, 8, 9, 10, 11"]]),
        ("La capital de España es", &[&[" de ", " la ", " del "], &[" una ", " el ", " es ", "madrid"]]),
        ("Photosynthesis is the process by which plants", &[&["light", "sun"], &["energy"]]),
    ];
    let text = |prompt: &str| Input::Text(prompt.to_owned());
    let Some(results) = answers("gemma-3-270m-q4_k_m.gguf", &PROMPTS, text) else { return };
    make_sense(&PROMPTS, &results);
}
