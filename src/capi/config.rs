//! `tactus_config_t`: what a coordinator is made of.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::args::{UserData, array, choice, count, flag, out, out_pointer, path, text};
use super::artifacts::tactus_artifacts_t;
use super::boundary::{boundary, callback};
use super::handle::{self, Handle, Kind};
use crate::backend::KvType;
use crate::coordinator::{Config, ContextCacheConfig, Device, KvBudget, LaunchMode, ParallelConfig, TemplateOverride, json};
use crate::error::{Error, Result};
use crate::weights::Access;

/// Configuration of a coordinator, or of artifacts. A builder: creating something from it copies what it is then, and it can be
/// changed and used again.
///
/// Threads: any; calls on one configuration are serialised.
pub struct tactus_config_t {
    _opaque: [u8; 0],
}

#[derive(Default)]
pub(super) struct ConfigBuilder {
    config: Mutex<Config>,
    callback: Mutex<Option<(Progress, UserData)>>,
    load: Arc<Load>,
}

type Progress = unsafe extern "C" fn(u64, u64, *mut c_void) -> i32;

/// Progress of the load that runs with this configuration, for polling.
#[derive(Default)]
struct Load {
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
}

impl Handle for tactus_config_t {
    const KIND: Kind = Kind::Config;
    type Object = ConfigBuilder;
}

impl ConfigBuilder {
    fn change(&self, change: impl FnOnce(&mut Config)) {
        change(&mut self.config.lock());
    }

    /// The configuration as it is now.
    pub(super) fn copy(&self) -> Config {
        self.config.lock().clone()
    }

    /// Runs `load` with the configuration as it is now, with its progress and a pending cancel connected.
    pub(super) fn use_for<T>(&self, load: impl FnOnce(Config) -> Result<T>) -> Result<T> {
        let mut config = self.copy();
        let host = *self.callback.lock();
        let state = self.load.clone();
        state.done.store(0, Ordering::Relaxed);
        state.total.store(0, Ordering::Relaxed);
        config.load_progress = Some(Arc::new(move |done, total| {
            let host: Option<(Progress, UserData)> = host;
            state.total.store(total, Ordering::Relaxed);
            state.done.store(done, Ordering::Relaxed);
            // SAFETY: the host's function, under the contract it was registered with.
            let go_on = host.is_none_or(|(function, data)| callback(|| unsafe { function(done, total, data.0) }) == 0);
            go_on && !state.cancelled.load(Ordering::Acquire)
        }));
        let outcome = load(config);
        self.load.cancelled.store(false, Ordering::Release);
        outcome
    }
}

/// CUDA where this library and the machine have it, the CPU otherwise.
pub const TACTUS_DEVICE_AUTO: i32 = 0;
/// The CPU.
pub const TACTUS_DEVICE_CPU: i32 = 1;
/// CUDA devices.
pub const TACTUS_DEVICE_CUDA: i32 = 2;

/// Ranks are threads of this process.
pub const TACTUS_LAUNCH_THREAD: i32 = 0;
/// Ranks are MPI processes.
pub const TACTUS_LAUNCH_MPI: i32 = 1;

/// 32-bit floats, for comparisons.
pub const TACTUS_KV_F32: i32 = 0;
/// IEEE half precision: the default.
pub const TACTUS_KV_F16: i32 = 1;
/// bfloat16.
pub const TACTUS_KV_BF16: i32 = 2;

/// Weight files are mapped into memory: shared between processes, loaded as they are used. Somebody who truncates a mapped file
/// ends the process with a bus error. The default.
pub const TACTUS_WEIGHTS_MAP: i32 = 0;
/// Weight files are read into memory of our own: safe whatever happens to the file afterwards.
pub const TACTUS_WEIGHTS_READ: i32 = 1;

/// Called while weights load, with bytes done and bytes in all, on the thread that loads. An answer other than 0 stops the load,
/// which then fails with CANCELLED. Must not unwind or longjmp.
pub type tactus_load_progress_callback_t = Option<unsafe extern "C" fn(done: u64, total: u64, user_data: *mut c_void) -> i32>;

/// Makes a configuration with every default. `*out_config` is owned by the caller: give it back with tactus_config_destroy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_create(out_config: *mut *mut tactus_config_t) -> i32 {
    boundary(|_| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_config, "out_config") }?;
        out.set(handle::give(ConfigBuilder::default())?);
        Ok(())
    })
}

/// Makes a configuration from a JSON object. Every key is optional: "engine_dir", "checkpoint_dir", "parallel_config"
/// {"tensor_parallel_size", "launch_mode" "thread" or "mpi", "devices"}, "local_ranks", "local_rank_devices" {"rank": device}, "device"
/// "auto", "cpu" or "cuda", "cpu_threads", "max_batch", "max_sequence_length", "kv_budget_bytes" or "kv_budget_fraction", "kv_type"
/// "f16", "bf16" or "f32", "page_tokens", "prefill_chunk", "mixed_prefill_chunk", "weights_access" "map" or "read", "chat_template" or
/// "chat_template_file". camelCase spellings are accepted. Other keys are refused by name.
///
/// Ownership as tactus_config_create. Errors: INVALID_ARGUMENT naming the key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_from_json(
    json: *const c_char,
    json_len: usize,
    out_config: *mut *mut tactus_config_t,
) -> i32 {
    boundary(|_| {
        // SAFETY: the contract of the ABI.
        let (out, json) = unsafe { (out_pointer(out_config, "out_config")?, text(json, json_len, "json")?) };
        let config = Mutex::new(json::config_from_json(json)?);
        out.set(handle::give(ConfigBuilder { config, ..ConfigBuilder::default() })?);
        Ok(())
    })
}

/// Frees the configuration. Null is fine.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_destroy(config: *mut tactus_config_t) -> i32 {
    boundary(|_| handle::take(config, "config").map(drop))
}

fn set(config: *mut tactus_config_t, change: impl FnOnce(&mut Config)) -> i32 {
    boundary(|call| {
        call.get(config, "config")?.change(change);
        Ok(())
    })
}

fn set_count(config: *mut tactus_config_t, value: i64, name: &str, field: fn(&mut Config) -> &mut usize) -> i32 {
    boundary(|call| {
        let value = count(value, name)?;
        call.get(config, "config")?.change(|config| *field(config) = value);
        Ok(())
    })
}

unsafe fn set_path(
    config: *mut tactus_config_t,
    data: *const c_char,
    len: usize,
    change: impl FnOnce(&mut Config, std::path::PathBuf),
) -> i32 {
    boundary(|call| {
        // SAFETY: the caller's contract.
        let path = unsafe { path(data, len, "path") }?;
        call.get(config, "config")?.change(|config| change(config, path));
        Ok(())
    })
}

/// Sets the model: a Hugging Face directory, a .gguf file, or a directory that holds one.
///
/// Whether it is there is found at creation. Errors, here and below: INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_engine_dir(config: *mut tactus_config_t, path: *const c_char, path_len: usize) -> i32 {
    // SAFETY: the contract of the ABI.
    unsafe { set_path(config, path, path_len, |config, path| config.engine_dir = path) }
}

/// Reads weights from here; configuration and tokenizer still come from the engine directory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_checkpoint_dir(
    config: *mut tactus_config_t,
    path: *const c_char,
    path_len: usize,
) -> i32 {
    // SAFETY: the contract of the ABI.
    unsafe { set_path(config, path, path_len, |config, path| config.checkpoint_dir = Some(path)) }
}

/// Uses a model that is loaded already; null undoes that. An engine directory that is set as well must be the artifacts' own. The
/// configuration keeps the model alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_artifacts(config: *mut tactus_config_t, artifacts: *mut tactus_artifacts_t) -> i32 {
    boundary(|call| {
        let config = call.get(config, "config")?;
        let artifacts = if artifacts.is_null() { None } else { Some(call.get(artifacts, "artifacts")?) };
        config.change(|config| config.artifacts = artifacts.map(|artifacts| artifacts.shared()));
        Ok(())
    })
}

/// Sets the plan: how many ranks share the model, how they are started (TACTUS_LAUNCH_*), and the device of each of them. No devices:
/// device r for rank r.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_parallel(
    config: *mut tactus_config_t,
    tensor_parallel_size: i32,
    launch_mode: i32,
    devices: *const i32,
    device_count: usize,
) -> i32 {
    boundary(|call| {
        const MODES: &[(i32, &str, LaunchMode)] = &[
            (TACTUS_LAUNCH_THREAD, "TACTUS_LAUNCH_THREAD", LaunchMode::Thread),
            (TACTUS_LAUNCH_MPI, "TACTUS_LAUNCH_MPI", LaunchMode::Mpi),
        ];
        let launch_mode = choice(launch_mode, "launch_mode", MODES)?;
        // SAFETY: the contract of the ABI.
        let devices = unsafe { array(devices, device_count, "devices") }?.to_vec();
        let parallel = ParallelConfig { tensor_parallel_size, launch_mode, devices };
        call.get(config, "config")?.change(|config| config.parallel = parallel);
        Ok(())
    })
}

/// Sets the ranks of this process; none: all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_local_ranks(
    config: *mut tactus_config_t,
    ranks: *const i32,
    rank_count: usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let ranks = unsafe { array(ranks, rank_count, "ranks") }?.to_vec();
        call.get(config, "config")?.change(|config| config.local_ranks = ranks);
        Ok(())
    })
}

/// Sets the device of one local rank, instead of the plan's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_local_rank_device(config: *mut tactus_config_t, rank: i32, device: i32) -> i32 {
    set(config, |config| {
        config.local_rank_devices.insert(rank, device);
    })
}

/// Sets the kind of device, a TACTUS_DEVICE_* constant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_device(config: *mut tactus_config_t, device: i32) -> i32 {
    boundary(|call| {
        const DEVICES: &[(i32, &str, Device)] = &[
            (TACTUS_DEVICE_AUTO, "TACTUS_DEVICE_AUTO", Device::Auto),
            (TACTUS_DEVICE_CPU, "TACTUS_DEVICE_CPU", Device::Cpu),
            (TACTUS_DEVICE_CUDA, "TACTUS_DEVICE_CUDA", Device::Cuda),
        ];
        let device = choice(device, "device", DEVICES)?;
        call.get(config, "config")?.change(|config| config.device = device);
        Ok(())
    })
}

/// Sets the number of threads that compute, the dispatching one included; 0: one per core this process may run on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_cpu_threads(config: *mut tactus_config_t, threads: i32) -> i32 {
    set_count(config, i64::from(threads), "threads", |config| &mut config.cpu_threads)
}

/// Sets how many sequences can be resident at once; 0: 8. A dispatch may have more: they take turns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_max_batch(config: *mut tactus_config_t, sequences: i32) -> i32 {
    set_count(config, i64::from(sequences), "sequences", |config| &mut config.max_batch)
}

/// Sets the longest sequence, prompt and output, in tokens; 0: what the model was trained for. Lowered to what the KV budget holds;
/// tactus_coordinator_limit tells the outcome.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_max_sequence_length(config: *mut tactus_config_t, tokens: i64) -> i32 {
    set_count(config, tokens, "tokens", |config| &mut config.max_sequence_length)
}

/// Sets the memory of the KV pool in bytes; 0: enough for every seat to hold the longest sequence, within half of the memory that is
/// available at creation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_kv_budget_bytes(config: *mut tactus_config_t, bytes: u64) -> i32 {
    set(config, |config| config.kv_budget = if bytes == 0 { KvBudget::Auto } else { KvBudget::Bytes(bytes) })
}

/// Sets the memory of the KV pool as a share, above 0 and at most 1, of the memory that is available at creation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_kv_budget_fraction(config: *mut tactus_config_t, fraction: f64) -> i32 {
    boundary(|call| {
        if !(fraction > 0.0 && fraction <= 1.0) {
            return Err(Error::invalid(format!("fraction: {fraction}, expected a number above 0 and at most 1")));
        }
        call.get(config, "config")?.change(|config| config.kv_budget = KvBudget::Fraction(fraction));
        Ok(())
    })
}

/// Sets the element type of the KV pool, a TACTUS_KV_* constant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_kv_type(config: *mut tactus_config_t, kv_type: i32) -> i32 {
    boundary(|call| {
        const TYPES: &[(i32, &str, KvType)] = &[
            (TACTUS_KV_F32, "TACTUS_KV_F32", KvType::F32),
            (TACTUS_KV_F16, "TACTUS_KV_F16", KvType::F16),
            (TACTUS_KV_BF16, "TACTUS_KV_BF16", KvType::BF16),
        ];
        let kv_type = choice(kv_type, "kv_type", TYPES)?;
        call.get(config, "config")?.change(|config| config.kv_type = Some(kv_type));
        Ok(())
    })
}

/// Sets the tokens per KV page: 16, 32 or 64; 0: 32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_page_tokens(config: *mut tactus_config_t, tokens: i32) -> i32 {
    set_count(config, i64::from(tokens), "tokens", |config| &mut config.page_tokens)
}

/// Sets the most prompt tokens in one step while nobody decodes; 0: 256.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_prefill_chunk(config: *mut tactus_config_t, tokens: i32) -> i32 {
    set_count(config, i64::from(tokens), "tokens", |config| &mut config.prefill_chunk)
}

/// Sets the most prompt tokens in a step that also decodes, so that a long prompt does not stall its neighbours; 0: 32.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_mixed_prefill_chunk(config: *mut tactus_config_t, tokens: i32) -> i32 {
    set_count(config, i64::from(tokens), "tokens", |config| &mut config.mixed_prefill_chunk)
}

/// Switches the context cache on (1) or off (0, the default): keys and values of finished sequences stay, within the KV pool, for later
/// ones that begin alike. `max_records`: how many sequences are remembered at most, 0 or more; the longest unused go first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_context_cache(config: *mut tactus_config_t, enabled: i32, max_records: i32) -> i32 {
    boundary(|call| {
        let enabled = flag(enabled, "enabled")?;
        call.get(config, "config")?.change(|config| config.context_cache = ContextCacheConfig { enabled, max_records });
        Ok(())
    })
}

/// Sets how weight files are taken into memory, a TACTUS_WEIGHTS_* constant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_weights_access(config: *mut tactus_config_t, access: i32) -> i32 {
    boundary(|call| {
        const ACCESS: &[(i32, &str, Access)] = &[
            (TACTUS_WEIGHTS_MAP, "TACTUS_WEIGHTS_MAP", Access::Map),
            (TACTUS_WEIGHTS_READ, "TACTUS_WEIGHTS_READ", Access::Read),
        ];
        let access = choice(access, "access", ACCESS)?;
        call.get(config, "config")?.change(|config| config.weights_access = access);
        Ok(())
    })
}

/// Uses this chat template (Jinja) instead of the model's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_chat_template(
    config: *mut tactus_config_t,
    template_text: *const c_char,
    template_len: usize,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let text = unsafe { text(template_text, template_len, "template_text") }?.to_string();
        call.get(config, "config")?.change(|config| config.chat_template = Some(TemplateOverride::Text(text)));
        Ok(())
    })
}

/// Uses the chat template in this file instead of the model's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_chat_template_file(
    config: *mut tactus_config_t,
    path: *const c_char,
    path_len: usize,
) -> i32 {
    // SAFETY: the contract of the ABI.
    unsafe { set_path(config, path, path_len, |config, path| config.chat_template = Some(TemplateOverride::File(path))) }
}

/// Calls `progress_callback` while something that is created from this configuration loads; null ends that. The polling alternative is
/// tactus_config_load_progress.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_set_load_progress_callback(
    config: *mut tactus_config_t,
    progress_callback: tactus_load_progress_callback_t,
    user_data: *mut c_void,
) -> i32 {
    boundary(|call| {
        let host = progress_callback.map(|function| (function, UserData(user_data)));
        *call.get(config, "config")?.callback.lock() = host;
        Ok(())
    })
}

/// Bytes done and bytes in all of the load that runs, or ran last, with this configuration; both 0 before. For a thread that watches
/// while another one creates.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_load_progress(
    config: *const tactus_config_t,
    out_done: *mut u64,
    out_total: *mut u64,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let (done, total) = unsafe { (out(out_done, "out_done")?, out(out_total, "out_total")?) };
        let config = call.get(config, "config")?;
        done.set(config.load.done.load(Ordering::Relaxed));
        total.set(config.load.total.load(Ordering::Relaxed));
        Ok(())
    })
}

/// Stops the load that runs with this configuration, or else the next one: it fails with CANCELLED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_config_cancel_load(config: *mut tactus_config_t) -> i32 {
    boundary(|call| {
        call.get(config, "config")?.load.cancelled.store(true, Ordering::Release);
        Ok(())
    })
}
