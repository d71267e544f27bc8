//! The sampler against its definition in double precision (`backend::sampling`: bias, penalties, mask, temperature, top-k, softmax,
//! top-p, min-p, draw).

use super::super::linear::Level;
use super::*;
use crate::backend::{SamplingParams, TokenCount};

/// Reproducible numbers.
struct Random(u64, u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.1 += 1;
        f64::from(philox::uniform(self.0, self.1))
    }

    fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn between(&mut self, low: f64, high: f64) -> f32 {
        (low + self.uniform() * (high - low)) as f32
    }
}

/// A sampler with its threads, over rows of logits.
struct Bench {
    sampler: Sampler,
    pool: Pool,
    vocab: usize,
}

impl Bench {
    fn new(vocab: usize, limit: usize, threads: usize, level: Level) -> Self {
        Bench { sampler: Sampler::new(vocab, limit, threads, level).unwrap(), pool: Pool::new(threads).unwrap(), vocab }
    }

    /// `logits` holds one row after the other.
    fn sample(&mut self, logits: &[f32], rows: &[SampleRow<'_>]) -> Vec<Sampled> {
        assert!(rows.iter().all(|row| (row.output as usize + 1) * self.vocab <= logits.len()));
        let mut out = vec![Sampled::default(); rows.len()];
        // SAFETY: every output has its row, as just checked, and nobody writes them.
        unsafe { self.sampler.sample(&self.pool, logits.as_ptr(), self.vocab, rows, &mut out).unwrap() };
        out
    }

    fn one(&mut self, logits: &[f32], row: &SampleRow<'_>) -> Sampled {
        self.sample(logits, std::slice::from_ref(row)).remove(0)
    }
}

const DRAWN: SamplingParams = SamplingParams { temperature: 1.0, ..SamplingParams::GREEDY };

fn row(params: SamplingParams, draw: u64) -> SampleRow<'static> {
    SampleRow { output: 0, params, seed: 11, draw, bias: &[], counts: &[], mask: None, logprobs: None }
}

/// The logits after bias, penalties and mask.
fn adjusted(logits: &[f32], limit: usize, row: &SampleRow<'_>) -> Vec<f64> {
    let mut x: Vec<f64> = logits.iter().map(|&x| f64::from(x)).collect();
    for &(token, bias) in row.bias {
        x[token as usize] += f64::from(bias);
    }
    for count in row.counts {
        let (x, p) = (&mut x[count.token as usize], &row.params);
        if count.in_prompt || count.in_output > 0 {
            let penalty = f64::from(p.repetition_penalty);
            *x = if *x > 0.0 { *x / penalty } else { *x * penalty };
        }
        if count.in_output > 0 {
            *x -= f64::from(p.presence_penalty) + f64::from(p.frequency_penalty) * f64::from(count.in_output);
        }
    }
    if let Some(mask) = row.mask {
        for (token, x) in x.iter_mut().enumerate() {
            if mask.get(token / 32).is_none_or(|word| word >> (token % 32) & 1 == 0) {
                *x = f64::NEG_INFINITY;
            }
        }
    }
    x.truncate(limit);
    x
}

/// Tokens that can be drawn, most probable first, with their shares of the mass; `top_p` and `min_p` in place of the row's.
fn kept(x: &[f64], params: &SamplingParams, top_p: f64, min_p: f64) -> Vec<(u32, f64)> {
    let mut order: Vec<(u32, f64)> = x.iter().enumerate().map(|(token, &x)| (token as u32, x)).collect();
    order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let largest = order[0].1;
    if params.is_greedy() {
        return vec![(order[0].0, 1.0)];
    }
    if params.top_k > 0 {
        order.truncate(params.top_k as usize);
    }
    order.iter_mut().for_each(|entry| entry.1 = ((entry.1 - largest) / f64::from(params.temperature)).exp());
    order.retain(|entry| entry.1 > 0.0);
    let total: f64 = order.iter().map(|entry| entry.1).sum();
    let mut sum = 0.0;
    let reached = order.iter().position(|entry| {
        sum += entry.1;
        sum >= top_p * total
    });
    if top_p < 1.0 {
        order.truncate(reached.map_or(order.len(), |at| at + 1));
    }
    let first = order[0];
    order.retain(|entry| *entry == first || entry.1 >= min_p);
    let total: f64 = order.iter().map(|entry| entry.1).sum();
    order.iter_mut().for_each(|entry| entry.1 /= total);
    order
}

fn invert(kept: &[(u32, f64)], uniform: f64) -> u32 {
    let mut sum = 0.0;
    let at = kept.iter().position(|&(_, share)| {
        sum += share;
        sum > uniform
    });
    kept[at.unwrap_or(kept.len() - 1)].0
}

/// The tokens a row may give: one, or more where a cut or the draw lies within single precision of a border.
fn legal(logits: &[f32], limit: usize, row: &SampleRow<'_>) -> Vec<u32> {
    const SINGLE: f64 = 2e-6;
    let x = adjusted(logits, limit, row);
    let uniform = f64::from(philox::uniform(row.seed, row.draw));
    let around = |x: f32| [f64::from(x) * (1.0 - SINGLE), f64::from(x), f64::from(x) * (1.0 + SINGLE)];
    let mut tokens = Vec::new();
    for top_p in if row.params.top_p >= 1.0 { [1.0; 3] } else { around(row.params.top_p) } {
        for min_p in around(row.params.min_p) {
            let kept = kept(&x, &row.params, top_p, min_p);
            tokens.extend([uniform - SINGLE, uniform, uniform + SINGLE].map(|u| invert(&kept, u)));
        }
    }
    tokens.sort_unstable();
    tokens.dedup();
    tokens
}

/// What a random row borrows from.
struct Settings {
    params: SamplingParams,
    bias: Vec<(u32, f32)>,
    counts: Vec<TokenCount>,
    mask: Option<Vec<u32>>,
    seed: u64,
    draw: u64,
    logprobs: Option<u32>,
}

impl Settings {
    fn random(random: &mut Random, vocab: usize, exact: bool) -> Self {
        let params = SamplingParams {
            temperature: if random.one_in(5) { 0.0 } else { random.between(0.2, 2.0) },
            top_k: if random.one_in(2) { 0 } else { random.below(vocab + 10) as u32 },
            top_p: if random.one_in(2) { 1.0 } else { random.between(0.0, 1.0) },
            min_p: if random.one_in(2) { 0.0 } else { random.between(0.0, 0.3) },
            // Powers of two keep equal logits equal.
            repetition_penalty: if exact { 2.0 } else { random.between(0.7, 1.6) },
            presence_penalty: if exact { 0.5 } else { random.between(-1.0, 1.0) },
            frequency_penalty: if exact { 0.25 } else { random.between(-0.5, 0.5) },
        };
        let mut some = |n: usize| -> Vec<u32> {
            let mut tokens: Vec<u32> = (0..n).map(|_| random.below(vocab) as u32).collect();
            tokens.sort_unstable();
            tokens.dedup();
            tokens
        };
        let (biased, counted) = (some(4), some(20));
        let bias = |token| (token, if random.one_in(3) { f32::NEG_INFINITY } else { random.below(17) as f32 / 4.0 - 2.0 });
        let bias = biased.into_iter().map(bias).collect();
        let count = |token| TokenCount { token, in_prompt: random.one_in(2), in_output: random.below(4) as u32 };
        let counts = counted.into_iter().map(count).collect();
        // The last word of a mask has bits beyond the vocabulary.
        let words = vocab.div_ceil(32);
        let mask = random.one_in(2).then(|| (0..words).map(|_| (random.uniform() * 4294967296.0) as u32 | 1).collect());
        Settings {
            params,
            bias: if random.one_in(2) { bias } else { Vec::new() },
            counts: if random.one_in(2) { counts } else { Vec::new() },
            mask,
            seed: random.below(1000) as u64,
            draw: random.below(1 << 20) as u64,
            logprobs: Some(random.below(7) as u32),
        }
    }

    fn row(&self, output: u32) -> SampleRow<'_> {
        SampleRow {
            output,
            params: self.params,
            seed: self.seed,
            draw: self.draw,
            bias: &self.bias,
            counts: &self.counts,
            mask: self.mask.as_deref(),
            logprobs: self.logprobs,
        }
    }
}

/// Logits of one row: smooth, or in quarters so that many are equal, some of them -inf.
fn random_logits(random: &mut Random, vocab: usize, exact: bool) -> Vec<f32> {
    let logit = |random: &mut Random| {
        if random.one_in(20) {
            return f32::NEG_INFINITY;
        }
        let x = random.between(-6.0, 6.0);
        if exact { (x * 4.0).round() / 4.0 } else { x }
    };
    let mut logits: Vec<f32> = (0..vocab).map(|_| logit(random)).collect();
    logits[0] = 1.5;
    logits
}

/// Whether bans and mask leave a token.
fn has_choice(logits: &[f32], limit: usize, row: &SampleRow<'_>) -> bool {
    adjusted(logits, limit, row).iter().any(|&x| x > f64::NEG_INFINITY)
}

#[test]
fn random_rows_give_what_double_precision_gives() {
    let mut random = Random(1, 0);
    let (mut rows, mut certain) = (0, 0);
    for level in Level::available() {
        for vocab in [1, 2, 5, 33, 64, 250, 257, 300, 1000, 4099] {
            let limit = if random.one_in(3) { (vocab * 9 / 10).max(1) } else { vocab };
            let mut bench = Bench::new(vocab, limit, 1, level);
            for _ in 0..60 {
                let exact = random.one_in(2);
                let logits = random_logits(&mut random, vocab, exact);
                let settings = Settings::random(&mut random, vocab, exact);
                let row = settings.row(0);
                let found = bench.one(&logits, &row);
                if !has_choice(&logits, limit, &row) {
                    assert_eq!(found.fault, Some(SampleFault::NothingAllowed));
                    continue;
                }
                let legal = legal(&logits, limit, &row);
                assert!(
                    found.fault.is_none() && legal.contains(&found.token),
                    "{level}, vocabulary {vocab}: {} ({:?}), expected one of {legal:?} with {:?}",
                    found.token,
                    found.fault,
                    settings.params
                );
                (rows, certain) = (rows + 1, certain + usize::from(legal.len() == 1));
                check_logprobs(&logits, limit, &found, settings.logprobs.unwrap() as usize);
            }
        }
    }
    assert!(certain * 10 > rows * 9, "only {certain} of {rows} rows have one answer");
}

/// FIELD_CASES 53: natural log-softmax of the raw logits at temperature 1, over the whole row.
fn check_logprobs(logits: &[f32], limit: usize, found: &Sampled, top: usize) {
    let largest = logits.iter().fold(f32::NEG_INFINITY, |m, &x| m.max(x));
    let sum: f64 = logits.iter().map(|&x| f64::from(x - largest).exp()).sum();
    let expected = |token: u32| f64::from(logits[token as usize]) - f64::from(largest) - sum.ln();
    let near = |found: f32, expected: f64| (f64::from(found) - expected).abs() < 1e-5 * (1.0 + expected.abs());
    assert!(near(found.logprob, expected(found.token)), "{} for token {}", found.logprob, found.token);
    let mut order: Vec<u32> = (0..limit as u32).collect();
    order.sort_by(|&a, &b| logits[b as usize].total_cmp(&logits[a as usize]).then(a.cmp(&b)));
    order.truncate(top);
    assert_eq!(found.top.iter().map(|t| t.0).collect::<Vec<_>>(), order);
    let same = |x: f32, expected: f64| x == f32::NEG_INFINITY && expected == f64::NEG_INFINITY || near(x, expected);
    assert!(found.top.iter().all(|&(token, logprob)| same(logprob, expected(token))));
}

/// FIELD_CASES 53: the same at temperature 0 and 2, never zero, and probabilities that sum to 1.
#[test]
fn log_probabilities_are_those_of_the_raw_logits() {
    let logits: Vec<f32> = (0..40).map(|i| (i * 7 % 40) as f32 / 5.0).collect();
    for level in Level::available() {
        let mut bench = Bench::new(40, 40, 1, level);
        let [cold, warm] = [0.0, 2.0].map(|temperature| {
            let params = SamplingParams { temperature, ..DRAWN };
            bench.one(&logits, &SampleRow { logprobs: Some(40), ..row(params, 5) })
        });
        assert_eq!(cold.top, warm.top);
        assert!(cold.top.windows(2).all(|pair| pair[0].1 >= pair[1].1) && cold.logprob < 0.0);
        let sum: f64 = cold.top.iter().map(|&(_, logprob)| f64::from(logprob).exp()).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{level}: {sum}");
    }
}

/// A sample of `draws` against the exact shares. The bound is six standard deviations above the mean of chi-square.
fn follows(shares: &[(u32, f64)], draws: &[u32]) {
    let mut counts = std::collections::HashMap::new();
    draws.iter().for_each(|&token| *counts.entry(token).or_insert(0u32) += 1);
    assert!(counts.keys().all(|token| shares.iter().any(|s| s.0 == *token)), "a token that cannot be drawn");
    // Rare tokens are counted together.
    let (mut cells, mut rest) = (Vec::new(), (0.0, 0.0));
    for &(token, share) in shares {
        let (expected, found) = (share * draws.len() as f64, f64::from(counts.get(&token).copied().unwrap_or(0)));
        if expected >= 8.0 {
            cells.push((expected, found));
        } else {
            rest = (rest.0 + expected, rest.1 + found);
        }
    }
    if rest.0 >= 8.0 {
        cells.push(rest);
    }
    let statistic: f64 = cells.iter().map(|(expected, found)| (found - expected).powi(2) / expected).sum();
    let freedom = cells.len() as f64 - 1.0;
    assert!(statistic <= freedom + 6.0 * (2.0 * freedom).sqrt(), "chi-square {statistic:.1} at {freedom} degrees of freedom");
}

/// FIELD_CASES 41: draws follow the distribution that the settings define, along a sequence and over seeds.
#[test]
fn draws_follow_the_distribution() {
    let mut random = Random(4, 0);
    let settings = [
        DRAWN,
        SamplingParams { temperature: 2.0, ..DRAWN },
        SamplingParams { temperature: 0.5, top_k: 7, ..DRAWN },
        SamplingParams { top_p: 0.8, ..DRAWN },
        SamplingParams { min_p: 0.1, ..DRAWN },
        SamplingParams { temperature: 1.5, top_k: 30, top_p: 0.9, min_p: 0.02, ..DRAWN },
    ];
    for vocab in [20, 700] {
        let logits: Vec<f32> = (0..vocab).map(|_| random.between(-3.0, 3.0)).collect();
        let mut bench = Bench::new(vocab, vocab, 1, Level::detect());
        for params in settings {
            let shares =
                kept(&adjusted(&logits, vocab, &row(params, 0)), &params, f64::from(params.top_p), f64::from(params.min_p));
            let along: Vec<_> = (0..12_000).map(|draw| row(params, draw)).collect();
            let tokens = |found: Vec<Sampled>| found.iter().map(|s| s.token).collect::<Vec<_>>();
            follows(&shares, &tokens(bench.sample(&logits, &along)));
            let seeds: Vec<_> = (0..12_000).map(|seed| SampleRow { seed, ..row(params, 9) }).collect();
            follows(&shares, &tokens(bench.sample(&logits, &seeds)));
        }
    }
    // Neighbouring positions are independent: pairs of draws have the product of the shares.
    let logits = [0.0, 1.0, -1.0, 0.5];
    let shares = kept(&adjusted(&logits, 4, &row(DRAWN, 0)), &DRAWN, 1.0, 0.0);
    let rows: Vec<_> = (0..20_000).map(|draw| row(DRAWN, draw)).collect();
    let found = Bench::new(4, 4, 1, Level::detect()).sample(&logits, &rows);
    let pairs: Vec<u32> = found.chunks(2).map(|pair| pair[0].token * 4 + pair[1].token).collect();
    let products: Vec<_> = shares.iter().flat_map(|a| shares.iter().map(move |b| (a.0 * 4 + b.0, a.1 * b.1))).collect();
    follows(&products, &pairs);
}

/// DESIGN 8, FIELD_CASES 79: a row gives the same bits alone and in any batch, on any number of threads, at every level.
#[test]
fn a_row_depends_on_no_other_row_and_on_no_thread() {
    let mut random = Random(6, 0);
    for (level, vocab) in Level::available().flat_map(|level| [(level, 77), (level, 2049)]) {
        let settings: Vec<_> = (0..13).map(|_| Settings::random(&mut random, vocab, false)).collect();
        let logits: Vec<f32> = (0..13).flat_map(|_| random_logits(&mut random, vocab, false)).collect();
        let rows: Vec<_> = settings.iter().enumerate().map(|(i, s)| s.row(i as u32)).collect();
        let mut alone = Bench::new(vocab, vocab, 1, level);
        let expected: Vec<_> = rows.iter().map(|row| alone.one(&logits, row)).collect();
        let bits = |s: &Sampled| {
            let top: Vec<_> = s.top.iter().map(|t| (t.0, t.1.to_bits())).collect();
            (s.token, s.logprob.to_bits(), top, s.fault)
        };
        for threads in [1, 2, 3, 5] {
            let found = Bench::new(vocab, vocab, threads, level).sample(&logits, &rows);
            assert!(found.iter().zip(&expected).all(|(a, b)| bits(a) == bits(b)), "{level}, {threads} threads");
        }
        let reversed: Vec<_> = rows.iter().rev().copied().collect();
        let found = alone.sample(&logits, &reversed);
        assert!(found.iter().rev().zip(&expected).all(|(a, b)| bits(a) == bits(b)), "{level}, reversed");
    }
}

/// FIELD_CASES 42: temperature 0 is the lowest id among equal maxima, whatever seed and cuts; almost 0 is the same.
#[test]
fn temperature_zero_takes_the_first_of_the_largest() {
    for level in Level::available() {
        for vocab in [3, 40, 1000] {
            let mut logits = vec![-1.0; vocab];
            (logits[vocab / 2], logits[vocab - 1]) = (3.0, 3.0);
            let mut bench = Bench::new(vocab, vocab, 1, level);
            for temperature in [0.0, 1e-9, 9e-4] {
                for cut in [SamplingParams { top_p: 1.0, ..DRAWN }, SamplingParams { top_p: 0.1, top_k: 5, min_p: 0.9, ..DRAWN }]
                {
                    for draw in 0..20 {
                        let found = bench.one(&logits, &row(SamplingParams { temperature, ..cut }, draw));
                        assert_eq!((found.token as usize, found.fault), (vocab / 2, None), "{level}");
                    }
                }
            }
        }
    }
}

/// FIELD_CASES 43: 0 and more than the vocabulary switch top-k off; 1 is the argmax; a cut among equals keeps the lower ids.
#[test]
fn top_k_zero_is_off() {
    let mut bench = Bench::new(4, 4, 1, Level::detect());
    let mut drawn = |top_k| {
        let rows: Vec<_> = (0..400).map(|draw| row(SamplingParams { top_k, ..DRAWN }, draw)).collect();
        let mut tokens: Vec<_> = bench.sample(&[0.0; 4], &rows).iter().map(|s| s.token).collect();
        tokens.sort_unstable();
        tokens.dedup();
        tokens
    };
    assert_eq!(drawn(0), [0, 1, 2, 3]);
    assert_eq!(drawn(9), [0, 1, 2, 3]);
    assert_eq!(drawn(1), [0]);
    assert_eq!(drawn(3), [0, 1, 2]);
}

/// FIELD_CASES 44: top-p never gives a token outside its set, in a small vocabulary and in a large flat one.
#[test]
fn top_p_keeps_exactly_its_set() {
    let one_less = 1.0 - f32::EPSILON / 2.0;
    let logits = [0.5f32, 0.3, 0.15, 0.05].map(f32::ln);
    for level in Level::available() {
        let mut bench = Bench::new(4, 4, 1, level);
        for (top_p, set) in [(0.0, 1), (0.5, 1), (0.500001, 2), (0.8, 2), (0.95, 3), (1.0, 4), (one_less, 4)] {
            let rows: Vec<_> = (0..20_000).map(|draw| row(SamplingParams { top_p, ..DRAWN }, draw)).collect();
            let seen = bench.sample(&logits, &rows).iter().fold(0u32, |seen, s| seen | 1 << s.token);
            assert_eq!(seen, (1 << set) - 1, "{level}, top_p {top_p}");
        }
        let vocab = 150_000;
        let flat = vec![0.25; vocab];
        let mut bench = Bench::new(vocab, vocab, 1, level);
        for top_p in [0.0, 0.5, 0.500001, 0.8, 0.95, 1.0, one_less] {
            let most = ((f64::from(top_p) * vocab as f64).ceil() as u32).max(1);
            let rows: Vec<_> = (0..40).map(|draw| row(SamplingParams { top_p, ..DRAWN }, draw)).collect();
            let found = bench.sample(&flat, &rows);
            // Equal tokens stand in order of id, so the draw is known to within rounding.
            for (row, found) in rows.iter().zip(&found) {
                let expected = f64::from(philox::uniform(row.seed, row.draw)) * f64::from(most);
                assert!(found.token < most && (f64::from(found.token) - expected).abs() <= 2.0, "{level}: {}", found.token);
            }
        }
    }
}

/// FIELD_CASES 45, DECISIONS 9: one bad logit is the fault of its row, told whatever the settings; its neighbours go on.
#[test]
fn what_is_not_finite_is_the_rows_own_fault() {
    for level in Level::available() {
        for vocab in [5, 37, 600] {
            let mut bench = Bench::new(vocab, vocab, 2, level);
            let fine: Vec<f32> = (0..vocab).map(|i| (i % 5) as f32).collect();
            for bad in [f32::NAN, -f32::NAN, f32::INFINITY] {
                let places = [vec![0], vec![vocab / 2], vec![vocab - 1], (0..vocab).collect()];
                for (place, params) in places.iter().flat_map(|place| [(place, SamplingParams::GREEDY), (place, DRAWN)]) {
                    let mut logits = [fine.clone(), fine.clone(), fine.clone()].concat();
                    place.iter().for_each(|at| logits[vocab + at] = bad);
                    let rows: Vec<_> = (0..3).map(|output| SampleRow { output, logprobs: Some(2), ..row(params, 3) }).collect();
                    let found = bench.sample(&logits, &rows);
                    assert_eq!(found[1].fault, Some(SampleFault::NonFinite), "{level}: {bad} at {place:?}");
                    assert!(found[0].fault.is_none() && found[0] == found[2]);
                }
            }
        }
    }
}

/// -inf is a ban: never drawn, with and without cuts; where nothing else is left that is told.
#[test]
fn minus_infinity_is_never_drawn() {
    for vocab in [40, 400] {
        let mut bench = Bench::new(vocab, vocab, 1, Level::detect());
        let logits: Vec<f32> = (0..vocab).map(|i| if i % 3 == 0 { 0.0 } else { f32::NEG_INFINITY }).collect();
        for params in [DRAWN, SamplingParams { top_k: 39, ..DRAWN }, SamplingParams { top_p: one_below(), min_p: 1e-30, ..DRAWN }]
        {
            let rows: Vec<_> = (0..500).map(|draw| row(params, draw)).collect();
            assert!(bench.sample(&logits, &rows).iter().all(|s| s.token % 3 == 0 && s.fault.is_none()));
        }
        let none = vec![f32::NEG_INFINITY; vocab];
        for params in [SamplingParams::GREEDY, DRAWN] {
            assert_eq!(bench.one(&none, &row(params, 0)).fault, Some(SampleFault::NothingAllowed));
            let mask = vec![0; vocab.div_ceil(32)];
            let masked = SampleRow { mask: Some(&mask), ..row(params, 0) };
            assert_eq!(bench.one(&logits, &masked).fault, Some(SampleFault::NothingAllowed));
            let bans: Vec<_> = (0..vocab as u32).map(|token| (token, f32::NEG_INFINITY)).collect();
            assert_eq!(bench.one(&logits, &SampleRow { bias: &bans, ..row(params, 0) }).fault, Some(SampleFault::NothingAllowed));
        }
    }
}

fn one_below() -> f32 {
    1.0 - f32::EPSILON / 2.0
}

/// FIELD_CASES 46: rows of the head beyond the tokenizer are never drawn nor listed, however large their logits.
#[test]
fn padded_rows_are_never_drawn() {
    for (vocab, limit) in [(160, 156), (700, 650)] {
        let mut logits = vec![0.0; vocab];
        logits[vocab - 2] = 50.0;
        let mut bench = Bench::new(vocab, limit, 1, Level::detect());
        for params in
            [SamplingParams::GREEDY, DRAWN, SamplingParams { top_k: 3, ..DRAWN }, SamplingParams { top_p: 0.5, ..DRAWN }]
        {
            let rows: Vec<_> = (0..200).map(|draw| SampleRow { logprobs: Some(4), ..row(params, draw) }).collect();
            for found in bench.sample(&logits, &rows) {
                assert!((found.token as usize) < limit && found.top.iter().all(|t| (t.0 as usize) < limit));
            }
        }
    }
}

/// FIELD_CASES 47, 49: a push wins even against a cut to one, a ban holds; a penalty divides positive and multiplies negative logits.
#[test]
fn bias_and_penalties_come_before_the_cuts() {
    let logits = [2.0, -1.0, 0.5, -3.0];
    let mut bench = Bench::new(4, 4, 1, Level::detect());
    for params in [SamplingParams::GREEDY, SamplingParams { top_k: 1, ..DRAWN }] {
        let mut with = |bias: &[(u32, f32)]| bench.one(&logits, &SampleRow { bias, ..row(params, 0) }).token;
        assert_eq!([with(&[]), with(&[(0, -100.0)]), with(&[(1, 100.0)]), with(&[(0, f32::NEG_INFINITY)])], [0, 2, 1, 2]);
    }
    let params = SamplingParams { repetition_penalty: 2.0, ..SamplingParams::GREEDY };
    let counts = [0, 1].map(|token| TokenCount { token, in_prompt: true, in_output: 0 });
    let mut found = Vec::new();
    adjust(&logits, &SampleRow { counts: &counts, ..row(params, 0) }, &mut found).unwrap();
    assert_eq!(found, [1.0, -2.0, 0.5, -3.0]);
    let params = SamplingParams { presence_penalty: 0.5, frequency_penalty: 0.25, ..SamplingParams::GREEDY };
    let counts = [(0, 3), (1, 0), (2, 1)].map(|(token, in_output)| TokenCount { token, in_prompt: true, in_output });
    adjust(&logits, &SampleRow { counts: &counts, ..row(params, 0) }, &mut found).unwrap();
    assert_eq!(found, [0.75, -1.0, -0.25, -3.0]);
}
