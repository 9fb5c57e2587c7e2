/* Where each field of satchel.h stands, as every program built so far has it. What is here never
 * changes: a new field gets a line behind the others of its struct, and the struct's size a new
 * one. Pointers of 8 bytes. */
#include <satchel/satchel.h>

#define AT(type, field, offset) \
  _Static_assert(offsetof(type, field) == (offset), #type "." #field " has moved")
#define ENDS(type, size) _Static_assert(sizeof(type) == (size), #type " has another size")

AT(satchel_runtime_options, struct_size, 0);
AT(satchel_runtime_options, log_level, 4);
AT(satchel_runtime_options, log, 8);
AT(satchel_runtime_options, log_user, 16);
AT(satchel_runtime_options, backend_folder, 24);
AT(satchel_runtime_options, profile_folder, 32);
ENDS(satchel_runtime_options, 40);

AT(satchel_scored_lane, struct_size, 0);
AT(satchel_scored_lane, kv_head, 4);
AT(satchel_scored_lane, n_tokens, 8);
AT(satchel_scored_lane, head_dim, 16);
AT(satchel_scored_lane, first_position, 24);
AT(satchel_scored_lane, k, 32);
AT(satchel_scored_lane, v, 40);
ENDS(satchel_scored_lane, 48);

AT(satchel_scorer, struct_size, 0);
AT(satchel_scorer, reserved, 4);
AT(satchel_scorer, name, 8);
AT(satchel_scorer, user, 16);
AT(satchel_scorer, score, 24);
ENDS(satchel_scorer, 32);

AT(satchel_store_options, struct_size, 0);
AT(satchel_store_options, reserved, 4);
AT(satchel_store_options, folder, 8);
AT(satchel_store_options, cache_folder, 16);
AT(satchel_store_options, quota_bytes, 24);
AT(satchel_store_options, key, 32);
AT(satchel_store_options, thin_after_days, 40);
ENDS(satchel_store_options, 48);

AT(satchel_delta, struct_size, 0);
AT(satchel_delta, is_thought, 4);
AT(satchel_delta, text, 8);
AT(satchel_delta, size, 16);
ENDS(satchel_delta, 24);

AT(satchel_listener, struct_size, 0);
AT(satchel_listener, reserved, 4);
AT(satchel_listener, user, 8);
AT(satchel_listener, progress, 16);
AT(satchel_listener, delta, 24);
ENDS(satchel_listener, 32);

AT(satchel_model_options, struct_size, 0);
AT(satchel_model_options, n_threads, 4);
AT(satchel_model_options, backend, 8);
AT(satchel_model_options, cpu_level, 16);
AT(satchel_model_options, chat_template, 24);
AT(satchel_model_options, store, 32);
AT(satchel_model_options, activation_bits, 40);
AT(satchel_model_options, reserved, 44);
ENDS(satchel_model_options, 48);

AT(satchel_model_info, struct_size, 0);
AT(satchel_model_info, on_gpu, 4);
AT(satchel_model_info, weight_bytes, 8);
AT(satchel_model_info, n_layers, 16);
AT(satchel_model_info, n_context, 24);
AT(satchel_model_info, n_vocabulary, 32);
AT(satchel_model_info, has_chat_template, 40);
AT(satchel_model_info, has_thinking_switch, 44);
AT(satchel_model_info, default_limit_bytes, 48);
ENDS(satchel_model_info, 56);

AT(satchel_estimate, struct_size, 0);
AT(satchel_estimate, fits, 4);
AT(satchel_estimate, weight_bytes, 8);
AT(satchel_estimate, cache_bytes, 16);
AT(satchel_estimate, expected_bytes, 24);
AT(satchel_estimate, workspace_bytes, 32);
AT(satchel_estimate, limit_bytes, 40);
AT(satchel_estimate, least_limit_bytes, 48);
AT(satchel_estimate, fp16_bytes, 56);
AT(satchel_estimate, n_tokens_fit, 64);
AT(satchel_estimate, n_tokens_most, 72);
AT(satchel_estimate, available_bytes, 80);
ENDS(satchel_estimate, 88);

AT(satchel_session_options, struct_size, 0);
AT(satchel_session_options, thinking, 4);
AT(satchel_session_options, recipe, 8);
AT(satchel_session_options, keep, 16);
AT(satchel_session_options, limit_bytes, 24);
AT(satchel_session_options, system, 32);
AT(satchel_session_options, beyond, 40);
AT(satchel_session_options, reserved, 44);
ENDS(satchel_session_options, 48);

AT(satchel_resume_report, struct_size, 0);
AT(satchel_resume_report, outcome, 4);
AT(satchel_resume_report, n_tokens, 8);
AT(satchel_resume_report, n_reused, 16);
AT(satchel_resume_report, n_recomputed, 24);
AT(satchel_resume_report, bytes_read, 32);
AT(satchel_resume_report, ms, 40);
AT(satchel_resume_report, too_long, 48);
AT(satchel_resume_report, reserved, 52);
AT(satchel_resume_report, reason, 56);
ENDS(satchel_resume_report, 64);

AT(satchel_message, struct_size, 0);
AT(satchel_message, role, 4);
AT(satchel_message, text, 8);
AT(satchel_message, size, 16);
ENDS(satchel_message, 24);

AT(satchel_prefill_report, struct_size, 0);
AT(satchel_prefill_report, compressed, 4);
AT(satchel_prefill_report, n_tokens, 8);
AT(satchel_prefill_report, n_unread, 16);
AT(satchel_prefill_report, n_evicted, 24);
AT(satchel_prefill_report, ms, 32);
AT(satchel_prefill_report, n_recomputed, 40);
AT(satchel_prefill_report, reason, 48);
AT(satchel_prefill_report, n_shelf, 56);
ENDS(satchel_prefill_report, 64);

AT(satchel_sampling, struct_size, 0);
AT(satchel_sampling, top_k, 4);
AT(satchel_sampling, temperature, 8);
AT(satchel_sampling, top_p, 16);
AT(satchel_sampling, min_p, 24);
AT(satchel_sampling, repetition_penalty, 32);
AT(satchel_sampling, seed, 40);
AT(satchel_sampling, n_tokens_max, 48);
AT(satchel_sampling, allow_loops, 56);
AT(satchel_sampling, reserved, 60);
AT(satchel_sampling, grammar, 64);
AT(satchel_sampling, json_schema, 72);
ENDS(satchel_sampling, 80);

AT(satchel_result, struct_size, 0);
AT(satchel_result, finish, 4);
AT(satchel_result, answer_id, 8);
AT(satchel_result, n_prompt, 16);
AT(satchel_result, n_reused, 24);
AT(satchel_result, n_prefilled, 32);
AT(satchel_result, n_thought, 40);
AT(satchel_result, n_answer, 48);
AT(satchel_result, prefill_ms, 56);
AT(satchel_result, decode_ms, 64);
AT(satchel_result, resume_outcome, 72);
AT(satchel_result, n_parts, 76);
AT(satchel_result, n_parts_unread, 80);
AT(satchel_result, reserved, 84);
AT(satchel_result, n_recomputed, 88);
AT(satchel_result, reason, 96);
ENDS(satchel_result, 104);

AT(satchel_stats, struct_size, 0);
AT(satchel_stats, n_tiers, 4);
AT(satchel_stats, n_tokens, 8);
AT(satchel_stats, n_prefilled, 16);
AT(satchel_stats, n_context, 24);
AT(satchel_stats, n_in_reach, 32);
AT(satchel_stats, bytes, 40);
AT(satchel_stats, fp16_bytes, 48);
AT(satchel_stats, n_retained, 56);
AT(satchel_stats, n_evicted, 64);
AT(satchel_stats, n_resting, 72);
AT(satchel_stats, limit_bytes, 80);
AT(satchel_stats, used_bytes, 88);
AT(satchel_stats, peak_bytes, 96);
AT(satchel_stats, n_unread, 104);
ENDS(satchel_stats, 112);

AT(satchel_fidelity, struct_size, 0);
AT(satchel_fidelity, is_measured, 4);
AT(satchel_fidelity, agreement, 8);
AT(satchel_fidelity, kl, 16);
AT(satchel_fidelity, attention_retained, 24);
AT(satchel_fidelity, n_compared, 32);
AT(satchel_fidelity, measured_at, 40);
AT(satchel_fidelity, measured_ms, 48);
AT(satchel_fidelity, n_facts_asked, 56);
AT(satchel_fidelity, n_facts_recalled, 60);
ENDS(satchel_fidelity, 64);

AT(satchel_memory_request, struct_size, 0);
AT(satchel_memory_request, reserved, 4);
AT(satchel_memory_request, limit_bytes, 8);
AT(satchel_memory_request, recipe, 16);
AT(satchel_memory_request, keep, 24);
ENDS(satchel_memory_request, 32);

AT(satchel_memory_change, struct_size, 0);
AT(satchel_memory_change, fits, 4);
AT(satchel_memory_change, bytes_before, 8);
AT(satchel_memory_change, bytes_after, 16);
AT(satchel_memory_change, n_lowered, 24);
AT(satchel_memory_change, n_evicted, 32);
AT(satchel_memory_change, n_recomputed, 40);
AT(satchel_memory_change, least_limit_bytes, 48);
AT(satchel_memory_change, reason, 56);
ENDS(satchel_memory_change, 64);
