//! Faults forced inside the library: a panic in any entry becomes a status (FIELD_CASES 132). `cargo test --features testing`.
#![cfg(feature = "testing")]

mod capi_support;

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use capi_support::*;
use tactus::capi::*;

fn last_error() -> String {
    // SAFETY: never null, NUL-terminated, valid until the next failing call of this thread.
    unsafe { CStr::from_ptr(tactus_last_error_message()) }.to_str().unwrap().to_string()
}

/// Calls each function with a panic waiting in it, and checks that it is told and nothing else happens.
macro_rules! panic_in {
    ($($name:ident($($argument:expr),*);)*) => {{
        $(
            tactus_last_error_clear();
            panic_at_next_entry();
            // SAFETY: arguments are null or 0, which every function checks, and none is looked at before the panic.
            #[allow(unused_unsafe)]
            let answer = unsafe { $name($($argument),*) };
            let name = stringify!($name);
            let predicate = ["_is_", "_owns_", "_supports_", "_succeeded"].iter().any(|part| name.contains(part));
            assert_eq!(answer, if predicate { 0 } else { TACTUS_ERR_INTERNAL }, "{name}");
            assert_eq!(tactus_last_error_status(), TACTUS_ERR_INTERNAL, "{name}");
            let message = last_error();
            assert!(message.contains("forced by a test") && message.contains("src/capi/boundary.rs:"), "{name}: {message}");
        )*
        vec![$(stringify!($name)),*]
    }};
}

#[test]
fn a_panic_in_any_entry_becomes_a_status() {
    let tested = panic_in! {
        tactus_last_error_capacity(null_mut(), null_mut(), null_mut());
        tactus_handle_error(null(), null_mut(), null_mut());
        tactus_handle_error_capacity(null(), null_mut(), null_mut(), null_mut());
        tactus_string_get(null(), null_mut(), null_mut());
        tactus_string_destroy(null_mut());
        tactus_ids_get(null(), null_mut(), null_mut());
        tactus_ids_destroy(null_mut());
        tactus_log_set_callback(0, None, null_mut());
        tactus_log_set_queue(0, 0);
        tactus_log_pop(null_mut(), null_mut());
        tactus_config_create(null_mut());
        tactus_config_from_json(null(), 0, null_mut());
        tactus_config_destroy(null_mut());
        tactus_config_set_engine_dir(null_mut(), null(), 0);
        tactus_config_set_checkpoint_dir(null_mut(), null(), 0);
        tactus_config_set_artifacts(null_mut(), null_mut());
        tactus_config_set_parallel(null_mut(), 0, 0, null(), 0);
        tactus_config_set_local_ranks(null_mut(), null(), 0);
        tactus_config_set_local_rank_device(null_mut(), 0, 0);
        tactus_config_set_device(null_mut(), 0);
        tactus_config_set_cpu_threads(null_mut(), 0);
        tactus_config_set_max_batch(null_mut(), 0);
        tactus_config_set_max_sequence_length(null_mut(), 0);
        tactus_config_set_kv_budget_bytes(null_mut(), 0);
        tactus_config_set_kv_budget_fraction(null_mut(), 0.0);
        tactus_config_set_kv_type(null_mut(), 0);
        tactus_config_set_page_tokens(null_mut(), 0);
        tactus_config_set_prefill_chunk(null_mut(), 0);
        tactus_config_set_mixed_prefill_chunk(null_mut(), 0);
        tactus_config_set_context_cache(null_mut(), 0, 0);
        tactus_config_set_weights_access(null_mut(), 0);
        tactus_config_set_chat_template(null_mut(), null(), 0);
        tactus_config_set_chat_template_file(null_mut(), null(), 0);
        tactus_config_set_load_progress_callback(null_mut(), None, null_mut());
        tactus_config_load_progress(null(), null_mut(), null_mut());
        tactus_config_cancel_load(null_mut());
        tactus_artifacts_load(null(), null_mut());
        tactus_artifacts_load_vocabulary(null(), null_mut());
        tactus_artifacts_destroy(null_mut());
        tactus_artifacts_info_json(null(), null_mut());
        tactus_artifacts_tokenize(null(), null(), 0, 0, 0, null_mut());
        tactus_artifacts_detokenize(null(), null(), 0, 0, null_mut());
        tactus_artifacts_token_text(null(), 0, null_mut());
        tactus_artifacts_render_chat(null(), null(), 0, null_mut());
        tactus_capabilities_json(null_mut());
        tactus_coordinator_create(null(), null_mut());
        tactus_coordinator_destroy(null_mut());
        tactus_coordinator_dispatch_request(null_mut(), null(), 0, null_mut());
        tactus_coordinator_take_rank_response(null_mut(), 0, null_mut());
        tactus_coordinator_count_prompt_tokens(null(), null(), null_mut());
        tactus_coordinator_capture_decoding_cuda_graph(null_mut(), null_mut(), null_mut());
        tactus_coordinator_world_size(null(), null_mut());
        tactus_coordinator_owns_global_rank(null(), 0);
        tactus_coordinator_local_ranks_succeeded(null());
        tactus_coordinator_supports_boundary_scheduling(null());
        tactus_coordinator_supports_stepped_execution(null());
        tactus_coordinator_limit(null(), 0, null_mut());
        tactus_coordinator_metric(null(), 0, null_mut());
        tactus_coordinator_info_json(null(), null_mut());
        tactus_request_create(null_mut());
        tactus_request_from_json(null(), 0, null_mut());
        tactus_request_destroy(null_mut());
        tactus_request_sequence_count(null(), null_mut());
        tactus_request_add_chat(null_mut(), null_mut());
        tactus_request_add_text(null_mut(), null(), 0, null_mut());
        tactus_request_add_ids(null_mut(), null(), 0, null_mut());
        tactus_request_set_channel(null_mut(), 0, null_mut());
        tactus_request_set_token_callback(null_mut(), None, null_mut());
        tactus_request_add_message(null_mut(), 0, null(), 0, null(), 0);
        tactus_request_add_message_json(null_mut(), 0, null(), 0);
        tactus_request_set_temperature(null_mut(), 0, 0.0);
        tactus_request_set_top_p(null_mut(), 0, 0.0);
        tactus_request_set_top_k(null_mut(), 0, 0);
        tactus_request_set_min_p(null_mut(), 0, 0.0);
        tactus_request_set_repetition_penalty(null_mut(), 0, 0.0);
        tactus_request_set_presence_penalty(null_mut(), 0, 0.0);
        tactus_request_set_frequency_penalty(null_mut(), 0, 0.0);
        tactus_request_set_max_generate_length(null_mut(), 0, 0);
        tactus_request_set_seed(null_mut(), 0, 0);
        tactus_request_set_num_logprobs(null_mut(), 0, 0);
        tactus_request_add_stop(null_mut(), 0, null(), 0);
        tactus_request_set_logit_bias(null_mut(), 0, null(), null(), 0);
        tactus_request_set_extra_eos_ids(null_mut(), 0, null(), 0);
        tactus_request_set_ignore_eos(null_mut(), 0, 0);
        tactus_request_set_apply_chat_template(null_mut(), 0, 0);
        tactus_request_set_add_generation_prompt(null_mut(), 0, 0);
        tactus_request_set_enable_thinking(null_mut(), 0, 0);
        tactus_request_set_skip_special_tokens(null_mut(), 0, 0);
        tactus_request_set_plain_content(null_mut(), 0, 0);
        tactus_request_set_tools_json(null_mut(), 0, null(), 0);
        tactus_request_set_template_variables_json(null_mut(), 0, null(), 0);
        tactus_request_set_template_name(null_mut(), 0, null(), 0);
        tactus_request_set_cache_bypass(null_mut(), 0, 0);
        tactus_request_set_cache_commit(null_mut(), 0, 0);
        tactus_request_set_cache_salt(null_mut(), 0, null(), 0);
        tactus_request_set_save_system_prompt(null_mut(), 0, 0);
        tactus_request_set_guide(null_mut(), 0, 0, null(), 0);
        tactus_response_destroy(null_mut());
        tactus_response_sequence_count(null(), null_mut());
        tactus_response_text(null(), 0, null_mut(), null_mut());
        tactus_response_output_ids(null(), 0, null_mut(), null_mut());
        tactus_response_finish_reason(null(), 0, null_mut());
        tactus_response_input_tokens(null(), 0, null_mut(), null_mut());
        tactus_response_logprob_count(null(), 0, null_mut());
        tactus_response_logprobs(null(), 0, 0, null_mut(), null_mut(), null_mut(), null_mut());
        tactus_response_seed(null(), 0, null_mut(), null_mut());
        tactus_response_max_generate_length(null(), 0, null_mut());
        tactus_response_setting(null(), 0, 0, null_mut(), null_mut());
        tactus_response_warning_count(null(), 0, null_mut());
        tactus_response_warning(null(), 0, 0, null_mut(), null_mut());
        tactus_response_error(null(), 0, null_mut(), null_mut(), null_mut());
        tactus_response_error_capacity(null(), 0, null_mut(), null_mut(), null_mut());
        tactus_response_timing(null(), 0, null_mut());
        tactus_response_batch_histogram(null(), null_mut(), null_mut());
        tactus_response_hidden_states(null(), 0, null_mut(), null_mut(), null_mut());
        tactus_request_set_hidden_layer(null_mut(), 0, 0);
        tactus_response_to_json(null(), null_mut());
        tactus_channel_create(null_mut());
        tactus_channel_destroy(null_mut());
        tactus_channel_set_interval(null_mut(), 0);
        tactus_channel_set_skip_special_tokens(null_mut(), 0);
        tactus_channel_try_pop(null_mut(), null_mut());
        tactus_channel_wait_pop(null_mut(), 0);
        tactus_channel_cancel(null_mut());
        tactus_channel_is_finished(null());
        tactus_channel_reason(null(), null_mut());
        tactus_channel_chunk_text(null(), null_mut(), null_mut());
        tactus_channel_chunk_ids(null(), null_mut(), null_mut());
        tactus_channel_chunk_finish(null(), null_mut(), null_mut());
        tactus_channel_chunk_logprobs(null(), 0, null_mut(), null_mut(), null_mut(), null_mut());
        tactus_coordinator_dispatch_request_with_hook(null_mut(), null(), 0, null_mut(), None, null_mut());
        tactus_boundary_resident_count(null(), null_mut());
        tactus_boundary_admit_request(null_mut(), null(), 0, 0);
        tactus_boundary_take_completed_at_or_above(null_mut(), 0, null_mut());
        tactus_coordinator_begin_stepped(null_mut(), null(), 0, 0, null_mut(), null_mut());
        tactus_stepped_destroy(null_mut());
        tactus_stepped_residents(null(), null_mut(), null_mut());
        tactus_stepped_admit(null_mut(), null(), 0, 0, null_mut());
        tactus_stepped_prefill(null_mut(), 0, null_mut());
        tactus_stepped_decode(null_mut(), null(), 0);
        tactus_stepped_step(null_mut(), null(), null(), 0, null(), 0);
        tactus_stepped_step_id(null(), null_mut());
        tactus_stepped_delta_count(null(), null_mut());
        tactus_stepped_delta(null(), 0, null_mut(), null_mut(), null_mut());
        tactus_stepped_finished(null(), null_mut(), null_mut());
        tactus_stepped_finished_response(null(), null_mut());
        tactus_stepped_retire(null_mut(), 0);
        tactus_stepped_finish(null_mut(), null_mut());
        tactus_stepped_abort(null_mut());
        tactus_response_original_index(null(), 0, null_mut());
        tactus_response_materialize(null(), 0, null_mut(), 0, null_mut());
        tactus_coordinator_gen_and_save_system_prompt_kv_cache(null_mut(), null(), 0, null_mut());
        tactus_coordinator_saved_system_prompts_json(null(), null_mut());
        tactus_coordinator_remove_system_prompt(null_mut(), null(), 0);
    };
    // What needs no border: they only read a constant or this thread's error.
    let plain = ["tactus_abi_version", "tactus_last_error_status"];
    for function in prototypes().into_iter().filter(|p| p.returns == "int32_t" && !plain.contains(&p.name.as_str())) {
        assert!(tested.contains(&function.name.as_str()), "{} is not tested", function.name);
    }
}

#[test]
fn a_panic_poisons_its_handle_and_no_other() {
    let (mut broken, mut fine) = (null_mut(), null_mut());
    let mut count = 0;
    // SAFETY: places for results, and handles that were just made.
    unsafe {
        assert_eq!(tactus_request_create(&mut broken), TACTUS_OK);
        assert_eq!(tactus_request_create(&mut fine), TACTUS_OK);
        panic_after_first_handle();
        assert_eq!(tactus_request_sequence_count(broken, &mut count), TACTUS_ERR_INTERNAL);
        assert_eq!(tactus_request_sequence_count(broken, &mut count), TACTUS_ERR_INTERNAL);
        assert!(last_error().contains("unusable") && last_error().contains("forced by a test"), "{}", last_error());
        let (mut status, mut message) = (0, null_mut());
        assert_eq!(tactus_handle_error(broken.cast(), &mut status, &mut message), TACTUS_OK);
        assert_eq!(status, TACTUS_ERR_INTERNAL);
        assert_eq!(tactus_string_destroy(message), TACTUS_OK);
        assert_eq!(tactus_request_sequence_count(fine, &mut count), TACTUS_OK);
        assert_eq!(tactus_request_destroy(broken), TACTUS_OK);
        assert_eq!(tactus_request_destroy(fine), TACTUS_OK);
    }
}

/// The release profile unwinds: a panic could not be caught otherwise.
#[test]
fn the_release_profile_unwinds() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let release = manifest.split("[profile.release]").nth(1).unwrap().split("\n[").next().unwrap();
    assert!(release.contains("panic = \"unwind\""));
}
