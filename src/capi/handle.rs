//! Opaque handles: what a C pointer of ours stands for, and who holds it.
//!
//! A handle is a number disguised as a pointer: a mark that no address has, the kind, the slot of a process-wide table, and a
//! generation that no other handle of the process has had. Every entry resolves it to an `Arc`, so a handle may be destroyed on
//! one thread while another still works with what it stands for, in any order, and a freed, foreign or made-up one is told from
//! a live one without touching memory.
//!
//! Invariant: a slot holds at most one live handle; its generation changes with every use.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use parking_lot::Mutex;

use super::fork::{self, PerProcess};
use crate::error::{Error, Result};

#[cfg(not(target_pointer_width = "64"))]
compile_error!("handles are 64-bit numbers: the C ABI needs 64-bit pointers");

/// What a handle stands for. The numbers are part of the disguise only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    String = 1,
    Ids = 2,
    Config = 3,
    Artifacts = 4,
    Coordinator = 5,
    Request = 6,
    Response = 7,
    Channel = 8,
    Stepped = 9,
    Boundary = 10,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::String => "tactus_string_t",
            Kind::Ids => "tactus_ids_t",
            Kind::Config => "tactus_config_t",
            Kind::Artifacts => "tactus_artifacts_t",
            Kind::Coordinator => "tactus_coordinator_t",
            Kind::Request => "tactus_request_t",
            Kind::Response => "tactus_response_t",
            Kind::Channel => "tactus_channel_t",
            Kind::Stepped => "tactus_stepped_t",
            Kind::Boundary => "tactus_boundary_t",
        }
    }

    fn from_bits(bits: u64) -> Option<Kind> {
        use Kind::*;
        [String, Ids, Config, Artifacts, Coordinator, Request, Response, Channel, Stepped, Boundary]
            .into_iter()
            .find(|k| *k as u64 == bits)
    }
}

/// A C handle type: ties the pointer's type to what it resolves to, so that a wrong cast does not compile on either side.
pub(super) trait Handle {
    const KIND: Kind;
    type Object: Send + Sync + 'static;
}

/// What the last failure on a handle was, and whether a panic has made it unusable.
#[derive(Default)]
pub(super) struct Health {
    last_error: Mutex<Option<Error>>,
    poison: OnceLock<String>,
}

impl Health {
    pub(super) fn record(&self, error: &Error) {
        *self.last_error.lock() = Some(error.clone());
    }

    pub(super) fn last_error(&self) -> Option<Error> {
        self.last_error.lock().clone()
    }

    pub(super) fn poison(&self, message: &str) {
        let _ = self.poison.set(message.to_string());
    }

    fn check(&self, kind: Kind) -> Result<()> {
        match self.poison.get() {
            None => Ok(()),
            Some(why) => Err(Error::internal(format!(
                "the {} is unusable since a call on it failed with: {why}; destroy it and make another",
                kind.name()
            ))),
        }
    }
}

/// Bits of a handle, from the top: mark 8 (no user-space address has any of them set), kind 4, generation 28, slot 24.
const MARK: u64 = 0x7a;
const SLOT_BITS: u32 = 24;
const GENERATION_BITS: u32 = 28;
const GENERATION_MASK: u64 = (1 << GENERATION_BITS) - 1;

/// Never repeats within 2^28 handles; a child goes on from its parent's.
static NEXT_GENERATION: AtomicU64 = AtomicU64::new(1);

fn encode(kind: Kind, slot: usize, generation: u64) -> u64 {
    MARK << 56 | (kind as u64) << 52 | (generation & GENERATION_MASK) << SLOT_BITS | slot as u64
}

struct Decoded {
    kind: Kind,
    slot: usize,
}

fn decode(bits: u64) -> Option<Decoded> {
    if bits >> 56 != MARK {
        return None;
    }
    Some(Decoded { kind: Kind::from_bits(bits >> 52 & 0xf)?, slot: (bits & ((1 << SLOT_BITS) - 1)) as usize })
}

struct Entry {
    bits: u64,
    object: Arc<dyn Any + Send + Sync>,
    health: Arc<Health>,
}

#[derive(Default)]
struct Table {
    slots: Vec<Option<Entry>>,
    /// Freed slots, reused in the order they were freed.
    free: VecDeque<u32>,
}

static TABLE: PerProcess<RwLock<Table>> = PerProcess::new(RwLock::default);

/// Makes a handle for `object`; the caller of the C function owns it.
pub(super) fn give<H: Handle>(object: H::Object) -> Result<*mut H> {
    let generation = NEXT_GENERATION.fetch_add(1, Ordering::Relaxed);
    let mut table = TABLE.get().write().unwrap_or_else(PoisonError::into_inner);
    let slot = match table.free.pop_front() {
        Some(slot) => slot as usize,
        None => {
            if table.slots.len() >> SLOT_BITS != 0 {
                return Err(Error::no_capacity(format!(
                    "{} handles are live, the most there can be; destroy some",
                    1 << SLOT_BITS
                )));
            }
            table.slots.push(None);
            table.slots.len() - 1
        }
    };
    let bits = encode(H::KIND, slot, generation);
    table.slots[slot] = Some(Entry { bits, object: Arc::new(object), health: Arc::default() });
    Ok(bits as usize as *mut H)
}

/// What `handle` stands for. The parameter's name goes into the error.
pub(super) fn resolve<H: Handle>(handle: *const H, name: &str) -> Result<(Arc<H::Object>, Arc<Health>)> {
    let (object, health) = lookup(handle.cast(), name, Some(H::KIND))?;
    health.check(H::KIND)?;
    Ok((downcast::<H>(object)?, health))
}

/// The health of a handle of any kind, poisoned ones included.
pub(super) fn health(handle: *const (), name: &str) -> Result<Arc<Health>> {
    Ok(lookup(handle, name, None)?.1)
}

/// Ends `handle`. The object lives on while a call on another thread uses it. `None` for null.
pub(super) fn take<H: Handle>(handle: *mut H, name: &str) -> Result<Option<Arc<H::Object>>> {
    if handle.is_null() {
        return Ok(None);
    }
    lookup(handle.cast_const().cast(), name, Some(H::KIND))?;
    let bits = handle as usize as u64;
    let mut table = TABLE.get().write().unwrap_or_else(PoisonError::into_inner);
    let slot = decode(bits).map_or(usize::MAX, |d| d.slot);
    let entry = match table.slots.get_mut(slot) {
        Some(place) if place.as_ref().is_some_and(|e| e.bits == bits) => place.take(),
        _ => None, // another thread was faster
    };
    let Some(entry) = entry else { return Err(freed(H::KIND, name)) };
    table.free.push_back(slot as u32);
    if table.free.len() == table.slots.len() {
        *table = Table::default(); // nothing is live: give the table's memory back
    }
    drop(table);
    downcast::<H>(entry.object).map(Some)
}

fn lookup(handle: *const (), name: &str, wanted: Option<Kind>) -> Result<(Arc<dyn Any + Send + Sync>, Arc<Health>)> {
    if handle.is_null() {
        return Err(Error::invalid(format!("{name} is null, expected a {}", wanted.map_or("handle", Kind::name))));
    }
    let bits = handle as usize as u64;
    let Some(decoded) = decode(bits) else {
        let expected = wanted.map_or("handle", Kind::name);
        return Err(Error::invalid(format!("{name} is not a handle of this library, expected a {expected}")));
    };
    if let Some(wanted) = wanted
        && wanted != decoded.kind
    {
        return Err(Error::invalid(format!("{name} is a {}, expected a {}", decoded.kind.name(), wanted.name())));
    }
    let table = TABLE.get().read().unwrap_or_else(PoisonError::into_inner);
    match table.slots.get(decoded.slot) {
        Some(Some(entry)) if entry.bits == bits => Ok((entry.object.clone(), entry.health.clone())),
        _ if fork::inherited(bits >> SLOT_BITS & GENERATION_MASK) => Err(Error::new(
            crate::Status::Forked,
            format!("{name} was made before this process was forked; make a new {} in the child", decoded.kind.name()),
        )),
        _ => Err(freed(decoded.kind, name)),
    }
}

fn freed(kind: Kind, name: &str) -> Error {
    Error::invalid(format!("{name} is a {} that has been destroyed", kind.name()))
}

fn downcast<H: Handle>(object: Arc<dyn Any + Send + Sync>) -> Result<Arc<H::Object>> {
    object.downcast().map_err(|_| Error::internal(format!("a {} holds an object of another type", H::KIND.name())))
}

/// The generation the next handle will have.
pub(super) fn next_generation() -> u64 {
    NEXT_GENERATION.load(Ordering::Relaxed)
}
