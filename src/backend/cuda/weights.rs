//! Weights on the device: rows in the order the model wants them, each in the bytes it is stored in.
//!
//! Neighbouring parts of one stored type are one segment, so that q, k and v of one type are one matrix. Bytes go from the mapped
//! file through two page-locked buffers, one being filled while the other is copied.

use std::sync::Arc;

use parking_lot::Mutex;

use super::driver::{self, CUdeviceptr, Device, DeviceBytes, Event, PinnedBytes, Stream};
use crate::backend::{RowOrder, Weight, WeightPart};
use crate::error::{Error, Result};
use crate::threads;
use crate::weights::StoredType;

/// Rows of one stored type.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub ty: StoredType,
    /// Of the weight.
    pub first_row: usize,
    pub rows: usize,
    pub row_bytes: usize,
    offset: usize,
}

/// A weight.
pub(super) struct Matrix {
    pub rows: usize,
    pub cols: usize,
    pub segments: Vec<Segment>,
    memory: DeviceBytes,
}

impl Matrix {
    pub fn data(&self, segment: &Segment) -> CUdeviceptr {
        self.memory.at(segment.offset)
    }

    pub fn bytes(&self) -> u64 {
        self.memory.len() as u64
    }
}

/// A norm weight or a bias, f32.
pub(super) struct Vector {
    pub len: usize,
    memory: DeviceBytes,
}

impl Vector {
    pub fn start(&self) -> CUdeviceptr {
        self.memory.start()
    }
}

/// Segments begin here, so that kernels can load 16 bytes at a time and more.
const ALIGN: usize = 256;

/// Bytes of one of the two buffers.
const STAGING: usize = 16 << 20;

/// Threads that read the file at a time: pages of a mapped file come in one by one for each.
const READERS: usize = 4;
const READER_STACK: usize = 256 << 10;

/// Writes bytes that begin at an offset.
type Fill<'a> = &'a (dyn Fn(usize, &mut [u8]) -> Result<()> + Sync);

/// Moves weights to a device.
pub(super) struct Uploader {
    device: Arc<Device>,
    stream: Stream,
    staging: [(PinnedBytes, Event); 2],
    next: usize,
}

impl Uploader {
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        let staging = || Ok::<_, Error>((PinnedBytes::new(device, STAGING, "staging of weights")?, Event::new(device)?));
        Ok(Uploader { device: device.clone(), stream: Stream::new(device)?, staging: [staging()?, staging()?], next: 0 })
    }

    /// Errors: FORMAT where a part's shape or size is not what the weight needs, DEVICE_OUT_OF_MEMORY.
    pub fn matrix(&mut self, weight: &Weight) -> Result<Matrix> {
        weight.check()?;
        let (mut segments, mut first_row, mut bytes) = (Vec::<Segment>::new(), 0, 0usize);
        let name = weight.parts.first().map_or("", |part| part.tensor.name.as_str());
        for part in weight.parts.iter().filter(|part| part.tensor.shape[0] > 0) {
            let (ty, rows) = (part.tensor.ty, part.tensor.shape[0]);
            let row_bytes = part.tensor.data.len() / rows;
            match segments.last_mut() {
                Some(last) if last.ty == ty => last.rows += rows,
                _ => {
                    bytes = bytes.next_multiple_of(ALIGN);
                    segments.push(Segment { ty, first_row, rows, row_bytes, offset: bytes });
                }
            }
            bytes += part.tensor.data.len();
            first_row += rows;
        }
        let memory = DeviceBytes::new(&self.device, bytes, name)?;
        let (mut at, mut before) = (0usize, None);
        for part in weight.parts.iter().filter(|part| part.tensor.shape[0] > 0) {
            if before.replace(part.tensor.ty) != Some(part.tensor.ty) {
                at = at.next_multiple_of(ALIGN);
            }
            self.part(part, memory.at(at))?;
            at += part.tensor.data.len();
        }
        self.stream.synchronize()?;
        Ok(Matrix { rows: weight.rows, cols: weight.cols, segments, memory })
    }

    fn part(&mut self, part: &WeightPart, to: CUdeviceptr) -> Result<()> {
        let (rows, data) = (part.tensor.shape[0], &part.tensor.data);
        let row_bytes = data.len() / rows;
        if part.order == RowOrder::AsStored {
            return self.send(to, data.len(), &|from, into| data.read_into(from, into));
        }
        self.send(to, data.len(), &|from, into| {
            // A piece may begin and end within a row.
            let mut at = 0;
            while at < into.len() {
                let (row, within) = ((from + at) / row_bytes, (from + at) % row_bytes);
                let n = (row_bytes - within).min(into.len() - at);
                data.read_into(part.order.stored_row(row) * row_bytes + within, &mut into[at..at + n])?;
                at += n;
            }
            Ok(())
        })
    }

    pub fn vector(&mut self, values: &[f32]) -> Result<Vector> {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let memory = DeviceBytes::new(&self.device, bytes.len(), "a vector")?;
        self.send(memory.start(), bytes.len(), &|from, into| {
            into.copy_from_slice(&bytes[from..from + into.len()]);
            Ok(())
        })?;
        self.stream.synchronize()?;
        Ok(Vector { len: values.len(), memory })
    }

    /// Sends `len` bytes, which `fill` writes from the offset it is given.
    fn send(&mut self, to: CUdeviceptr, len: usize, fill: Fill<'_>) -> Result<()> {
        let _current = self.device.current()?;
        for from in (0..len).step_by(STAGING) {
            let n = STAGING.min(len - from);
            let (staging, free) = &mut self.staging[self.next];
            self.next = 1 - self.next;
            free.wait()?;
            fill_shared(&mut staging.bytes_mut()[..n], from, fill)?;
            // SAFETY: the buffer is not touched before its event says that the copy is done; the range was allocated for these bytes.
            unsafe { driver::upload(to + from as CUdeviceptr, &staging.bytes()[..n], self.stream.raw())? };
            free.record(self.stream.raw())?;
        }
        Ok(())
    }
}

/// Fills `into` from several threads where it is large.
fn fill_shared(into: &mut [u8], from: usize, fill: Fill<'_>) -> Result<()> {
    let share = into.len().div_ceil(READERS).max(1 << 20);
    if into.len() <= share {
        return fill(from, into);
    }
    let failed = Mutex::new(Ok(()));
    std::thread::scope(|scope| {
        for (index, piece) in into.chunks_mut(share).enumerate() {
            let failed = &failed;
            let work = move || {
                if let Err(error) = fill(from + index * share, piece) {
                    *failed.lock() = Err(error);
                }
            };
            if let Err(error) = threads::start_scoped(scope, "upload", READER_STACK, work) {
                *failed.lock() = Err(Error::out_of_memory(format!("a thread that reads weights: {error}")));
            }
        }
    });
    failed.into_inner()
}
