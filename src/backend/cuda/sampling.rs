//! Sampling on the device: `kernels/sampling/sample.cu` chooses, this brings it the settings and takes the tokens.
//!
//! Settings, biases, counts and masks go up in one copy; tokens come back in one, after which the stream is waited for: the one wait of
//! a decode step. Buffers grow to the largest step and stay.

use std::sync::Arc;

use super::driver::{self, CUdeviceptr, Device, DeviceBytes, Geometry, PinnedBytes, Stream, launch};
use super::kernels::{Function, Kernels};
use crate::backend::{SampleFault, SampleRow, Sampled};
use crate::error::{Error, Result};

/// Logits of a block of the survey.
const CHUNK: usize = 4096;
/// Log-probabilities that a row can report.
const MOST_TOP: usize = 64;

/// 32-bit words of the kernels' structs.
const ROW: usize = 20;
const PART: usize = 5;
const RESULT: usize = 4;
const TOP: usize = 2;

const GREEDY: u32 = 1;
const CHANGED: u32 = 2;

pub(super) struct Sampler {
    device: Arc<Device>,
    vocab: usize,
    stride: usize,
    limit: usize,
    survey: Function,
    adjust: Function,
    mask: Function,
    choose: Function,
    /// Keeps the functions alive.
    _kernels: Arc<Kernels>,
    buffers: Option<Buffers>,
}

/// Memory for so many rows and words of settings.
struct Buffers {
    rows: usize,
    settings: (PinnedBytes, DeviceBytes),
    /// Results, and then the most probable tokens of all rows.
    results: (PinnedBytes, DeviceBytes),
    parts: DeviceBytes,
    faults: DeviceBytes,
    /// Rows of logits with bias, penalties and mask.
    adjusted: Option<DeviceBytes>,
}

/// Where the settings of a step lie, in words.
struct Places {
    biases: usize,
    counts: usize,
    masks: usize,
    words: usize,
}

impl Sampler {
    pub(super) fn new(
        device: &Arc<Device>,
        kernels: &Arc<Kernels>,
        vocab: usize,
        stride: usize,
        sampled_vocab: usize,
    ) -> Result<Self> {
        Ok(Sampler {
            device: device.clone(),
            vocab,
            stride,
            limit: sampled_vocab.min(vocab),
            survey: kernels.get("sample_survey")?,
            adjust: kernels.get("sample_adjust")?,
            mask: kernels.get("sample_mask")?,
            choose: kernels.get("sample_choose")?,
            _kernels: kernels.clone(),
            buffers: None,
        })
    }

    /// Bytes on the device.
    pub(super) fn bytes(&self) -> usize {
        self.buffers.as_ref().map_or(0, |b| {
            let adjusted = b.adjusted.as_ref().map_or(0, DeviceBytes::len);
            b.settings.1.len() + b.results.1.len() + b.parts.len() + b.faults.len() + adjusted
        })
    }

    /// Samples `rows`, whose outputs are rows of the logits at `logits`, and waits for the result.
    pub(super) fn sample(
        &mut self,
        stream: &Stream,
        logits: CUdeviceptr,
        rows: &[SampleRow<'_>],
        out: &mut [Sampled],
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        if let Some(k) = rows.iter().filter_map(|row| row.logprobs).find(|&k| k as usize > MOST_TOP) {
            return Err(Error::invalid(format!("{k} log-probabilities, expected at most {MOST_TOP}")));
        }
        let places = places(rows);
        let changed = rows.iter().any(is_changed);
        self.reserve(rows.len(), places.words, changed)?;
        let Some(buffers) = &mut self.buffers else { return Err(Error::internal("no sampling memory")) };
        write_settings(buffers.settings.0.words_mut(), rows, &places);
        let _current = self.device.current()?;
        let chunks = self.vocab.div_ceil(CHUNK);
        let (survey, per_row) = (Geometry::new(chunks, rows.len(), 256), Geometry::new(rows.len(), 1, 256));
        let settings = buffers.settings.1.start();
        let at = |word: usize| settings + 4 * word as CUdeviceptr;
        let (stride, vocab, limit) = (self.stride as i32, self.vocab as i32, self.limit as i32);
        let adjusted = buffers.adjusted.as_ref().map_or(0, DeviceBytes::start);
        let (parts, faults, results) = (buffers.parts.start(), buffers.faults.start(), buffers.results.1.start());
        let tops = results + 4 * (RESULT * buffers.rows) as CUdeviceptr;
        // SAFETY: the settings are not touched before the stream was waited for; parameters are the kernels', and buffers are
        // reserved for these rows and words.
        unsafe {
            driver::upload(settings, &buffers.settings.0.bytes()[..4 * places.words], stream.raw())?;
            launch!(self.survey.0, survey, stream.raw(); logits, stride, vocab, limit, settings, adjusted, parts)?;
            if changed {
                launch!(self.adjust.0, per_row, stream.raw();
                    stride, vocab, settings, at(places.biases), at(places.counts), adjusted, faults)?;
                launch!(self.mask.0, survey, stream.raw(); stride, limit, settings, at(places.masks), adjusted, parts)?;
            }
            launch!(self.choose.0, Geometry::new(rows.len(), 1, 1024), stream.raw();
                logits, stride, limit, settings, adjusted, parts, chunks as i32, faults, results, tops)?;
            let words = match rows.iter().any(|row| row.logprobs.is_some_and(|k| k > 0)) {
                true => RESULT * buffers.rows + TOP * MOST_TOP * rows.len(),
                false => RESULT * rows.len(),
            };
            driver::download(&mut buffers.results.0.bytes_mut()[..4 * words], results, stream.raw())?;
        }
        stream.synchronize()?;
        read_results(buffers.results.0.words_mut(), buffers.rows, rows, out)
    }

    /// Makes room, twice what is needed where there was too little.
    fn reserve(&mut self, rows: usize, words: usize, changed: bool) -> Result<()> {
        let fits = |b: &Buffers| b.rows >= rows && b.settings.0.len() >= 4 * words && (!changed || b.adjusted.is_some());
        if self.buffers.as_ref().is_some_and(fits) {
            return Ok(());
        }
        let before = self.buffers.take();
        let had = before.as_ref().map_or((0, 0, false), |b| (b.rows, b.settings.0.len() / 4, b.adjusted.is_some()));
        // Memory in use by nobody: the stream was waited for after every step.
        drop(before);
        let rows = if had.0 >= rows { had.0 } else { rows.next_power_of_two() };
        let words = if had.1 >= words { had.1 } else { (2 * words).max(1024) };
        let device = &self.device;
        let pair = |bytes: usize, what: &str| {
            Ok::<_, Error>((PinnedBytes::new(device, bytes, what)?, DeviceBytes::new(device, bytes, what)?))
        };
        let parts = self.vocab.div_ceil(CHUNK) * PART * 4 * rows;
        let adjusted =
            (changed || had.2).then(|| DeviceBytes::new(device, 4 * self.stride * rows, "adjusted logits")).transpose()?;
        self.buffers = Some(Buffers {
            rows,
            settings: pair(4 * words, "sampling settings")?,
            results: pair(4 * rows * (RESULT + TOP * MOST_TOP), "sampling results")?,
            parts: DeviceBytes::new(device, parts, "sampling memory")?,
            faults: DeviceBytes::new(device, 4 * rows, "sampling memory")?,
            adjusted,
        });
        Ok(())
    }
}

fn is_changed(row: &SampleRow<'_>) -> bool {
    !row.bias.is_empty() || !row.counts.is_empty() || row.mask.is_some()
}

fn places(rows: &[SampleRow<'_>]) -> Places {
    let biases = ROW * rows.len();
    let counts = biases + 2 * rows.iter().map(|row| row.bias.len()).sum::<usize>();
    let masks = counts + 3 * rows.iter().map(|row| row.counts.len()).sum::<usize>();
    let words = masks + rows.iter().map(|row| row.mask.map_or(0, <[u32]>::len)).sum::<usize>();
    Places { biases, counts, masks, words }
}

fn write_settings(words: &mut [u32], rows: &[SampleRow<'_>], places: &Places) {
    let (mut bias, mut count, mut mask) = (0, 0, 0);
    for (index, row) in rows.iter().enumerate() {
        let p = &row.params;
        let flags = if p.is_greedy() { GREEDY } else { 0 } | if is_changed(row) { CHANGED } else { 0 };
        let mask_words = row.mask.unwrap_or_default();
        words[ROW * index..][..ROW].copy_from_slice(&[
            row.output,
            flags,
            (1.0 / p.temperature).to_bits(),
            p.top_k,
            p.top_p.to_bits(),
            p.min_p.to_bits(),
            p.repetition_penalty.to_bits(),
            p.presence_penalty.to_bits(),
            p.frequency_penalty.to_bits(),
            row.seed as u32,
            (row.seed >> 32) as u32,
            row.draw as u32,
            (row.draw >> 32) as u32,
            bias as u32,
            row.bias.len() as u32,
            count as u32,
            row.counts.len() as u32,
            if row.mask.is_some() { mask as u32 } else { u32::MAX },
            mask_words.len() as u32,
            row.logprobs.unwrap_or(u32::MAX),
        ]);
        for &(token, add) in row.bias {
            words[places.biases + 2 * bias..][..2].copy_from_slice(&[token, add.to_bits()]);
            bias += 1;
        }
        for c in row.counts {
            words[places.counts + 3 * count..][..3].copy_from_slice(&[c.token, u32::from(c.in_prompt), c.in_output]);
            count += 1;
        }
        words[places.masks + mask..][..mask_words.len()].copy_from_slice(mask_words);
        mask += mask_words.len();
    }
}

fn read_results(words: &[u32], capacity: usize, rows: &[SampleRow<'_>], out: &mut [Sampled]) -> Result<()> {
    for (index, (row, out)) in rows.iter().zip(out).enumerate() {
        let &[token, fault, logprob, tops] = &words[RESULT * index..][..RESULT] else { continue };
        out.token = token;
        out.logprob = f32::from_bits(logprob);
        out.top.clear();
        out.fault = match fault {
            0 => None,
            1 => Some(SampleFault::NonFinite),
            2 => Some(SampleFault::NothingAllowed),
            _ => return Err(Error::internal(format!("fault {fault} of row {}", row.output))),
        };
        let tops = &words[RESULT * capacity + TOP * MOST_TOP * index..][..TOP * tops.min(MOST_TOP as u32) as usize];
        out.top.extend(tops.chunks_exact(TOP).map(|top| (top[0], f32::from_bits(top[1]))));
    }
    Ok(())
}
