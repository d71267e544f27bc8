//! `tactus_artifacts_t`: a loaded model that coordinators share.

use std::ffi::c_char;
use std::sync::Arc;

use super::args::{array, count, flag, out_pointer, text};
use super::boundary::boundary;
use super::config::tactus_config_t;
use super::handle::{self, Handle, Kind};
use super::ids::{give_ids, tactus_ids_t};
use super::request::tactus_request_t;
use super::string::{give_text, tactus_string_t};
use crate::artifacts::{LoadOptions, ModelArtifacts};
use crate::coordinator::{json, render_chat};
use crate::error::Error;
use crate::text::{EncodeOptions, on_deep_stack};

/// A loaded model: weights, tokenizer, chat template, limits. Coordinators made from it share it; it lives until the last of its owners
/// is destroyed. Immutable. Threads: any.
pub struct tactus_artifacts_t {
    _opaque: [u8; 0],
}

/// Artifacts are counted on their own: coordinators hold them beside handles.
pub(super) struct SharedArtifacts(Arc<ModelArtifacts>);

impl Handle for tactus_artifacts_t {
    const KIND: Kind = Kind::Artifacts;
    type Object = SharedArtifacts;
}

impl SharedArtifacts {
    pub(super) fn shared(&self) -> Arc<ModelArtifacts> {
        self.0.clone()
    }
}

/// Loads the model that `config` names, as tactus_coordinator_create would, without making a coordinator. Of the configuration, engine
/// directory, checkpoint directory, weights access and chat template are used.
///
/// `*out_artifacts` is owned by the caller: give it back with tactus_artifacts_destroy.
/// Errors: INVALID_ARGUMENT, NOT_FOUND (no such path, a missing shard or tensor), IO, FORMAT (malformed file), UNSUPPORTED (architecture
/// or stored type), TOKENIZER, OUT_OF_MEMORY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_artifacts_load(
    config: *const tactus_config_t,
    out_artifacts: *mut *mut tactus_artifacts_t,
) -> i32 {
    // SAFETY: the contract of the ABI.
    unsafe { load(config, false, out_artifacts) }
}

/// Loads only tokenizer, chat template and description: all but the functions of a coordinator work. Files that hold nothing else will
/// do, such as vocabulary-only .gguf files. Ownership and errors as tactus_artifacts_load.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_artifacts_load_vocabulary(
    config: *const tactus_config_t,
    out_artifacts: *mut *mut tactus_artifacts_t,
) -> i32 {
    // SAFETY: the contract of the ABI.
    unsafe { load(config, true, out_artifacts) }
}

unsafe fn load(config: *const tactus_config_t, vocabulary_only: bool, out_artifacts: *mut *mut tactus_artifacts_t) -> i32 {
    boundary(|call| {
        // SAFETY: the caller's contract.
        let out = unsafe { out_pointer(out_artifacts, "out_artifacts") }?;
        let config = call.get(config, "config")?.copy();
        if config.engine_dir.as_os_str().is_empty() {
            return Err(Error::invalid("engineDir: empty, expected the path of a model"));
        }
        let artifacts = ModelArtifacts::load(&LoadOptions {
            path: config.engine_dir,
            checkpoint_dir: config.checkpoint_dir,
            weights_access: config.weights_access,
            chat_template: config.chat_template,
            vocabulary_only,
        })?;
        out.set(handle::give(SharedArtifacts(artifacts))?);
        Ok(())
    })
}

/// Frees the artifacts. Null is fine. Coordinators and configurations that use them keep them alive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_artifacts_destroy(artifacts: *mut tactus_artifacts_t) -> i32 {
    boundary(|_| handle::take(artifacts, "artifacts").map(drop))
}

/// The model's description as a JSON object: architecture, name, format, sizes, limits, token ids, template names. `*out_json` is owned by
/// the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_artifacts_info_json(
    artifacts: *const tactus_artifacts_t,
    out_json: *mut *mut tactus_string_t,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_json, "out_json") }?;
        out.set(give_text(json::info_to_json(call.get(artifacts, "artifacts")?.0.info())?)?);
        Ok(())
    })
}

/// Encodes a text. `add_special`: 1 puts BOS and EOS where the model's tokenizer does, 0 adds nothing. `parse_special`: 1 makes control
/// tokens of the text that spells them, 0 keeps that text plain. `*out_ids` is owned by the caller.
///
/// Errors: INVALID_ARGUMENT, TOKENIZER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_artifacts_tokenize(
    artifacts: *const tactus_artifacts_t,
    input: *const c_char,
    input_len: usize,
    add_special: i32,
    parse_special: i32,
    out_ids: *mut *mut tactus_ids_t,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let (out, input) = unsafe { (out_pointer(out_ids, "out_ids")?, text(input, input_len, "input")?) };
        let artifacts = call.get(artifacts, "artifacts")?;
        let options = EncodeOptions {
            add_special: flag(add_special, "add_special")?,
            parse_special: flag(parse_special, "parse_special")?,
        };
        let ids = on_deep_stack(|| artifacts.0.tokenizer().encode(input, options))?;
        out.set(give_ids(ids.into_iter().map(|id| id as i32).collect())?);
        Ok(())
    })
}

/// Decodes `count` ids. `skip_special`: 1 leaves special tokens out. Ids that the model does not have are left out; bytes that are no
/// character become U+FFFD. `*out_text` is owned by the caller.
///
/// Errors: INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_artifacts_detokenize(
    artifacts: *const tactus_artifacts_t,
    ids: *const i32,
    count: usize,
    skip_special: i32,
    out_text: *mut *mut tactus_string_t,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let (out, ids) = unsafe { (out_pointer(out_text, "out_text")?, array(ids, count, "ids")?) };
        let artifacts = call.get(artifacts, "artifacts")?;
        let skip_special = flag(skip_special, "skip_special")?;
        let ids: Vec<u32> = ids.iter().filter_map(|&id| u32::try_from(id).ok()).collect();
        let text = artifacts.0.tokenizer().decode(&ids, skip_special);
        out.set(give_text(text)?);
        Ok(())
    })
}

/// The bytes that token `id` stands for: usually text, but it can be part of a character. None where the model has no such token.
/// `*out_text` is owned by the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_artifacts_token_text(
    artifacts: *const tactus_artifacts_t,
    id: i32,
    out_text: *mut *mut tactus_string_t,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_text, "out_text") }?;
        let artifacts = call.get(artifacts, "artifacts")?;
        let tokenizer = artifacts.0.tokenizer();
        let bytes = u32::try_from(id).ok().and_then(|id| tokenizer.token_bytes(id));
        out.set(give_text(bytes.unwrap_or_default())?);
        Ok(())
    })
}

/// The prompt that a chat sequence of `request` is rendered to, with the request's options: exactly the text whose tokens are fed.
/// `*out_text` is owned by the caller.
///
/// Errors: INVALID_ARGUMENT (not a chat); TEMPLATE (no template, or it refuses the messages: the message says why).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_artifacts_render_chat(
    artifacts: *const tactus_artifacts_t,
    request: *const tactus_request_t,
    sequence: i32,
    out_text: *mut *mut tactus_string_t,
) -> i32 {
    boundary(|call| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_text, "out_text") }?;
        let artifacts = call.get(artifacts, "artifacts")?;
        let request = call.get(request, "request")?.snapshot();
        let sequence = count(sequence.into(), "sequence")?;
        out.set(give_text(render_chat(&artifacts.0, &request, sequence)?)?);
        Ok(())
    })
}

/// What this library can do, as a JSON object: "architectures", "stored_types" and "devices", arrays of names. `*out_json` is owned by
/// the caller. Threads: any. Starts no device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tactus_capabilities_json(out_json: *mut *mut tactus_string_t) -> i32 {
    boundary(|_| {
        // SAFETY: the contract of the ABI.
        let out = unsafe { out_pointer(out_json, "out_json") }?;
        out.set(give_text(json::capabilities_to_json())?);
        Ok(())
    })
}
