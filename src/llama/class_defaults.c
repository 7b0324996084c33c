/* SPDX-License-Identifier: MIT
 *
 * Looks class defaults up. */
#include "llama/class_defaults.h"

#include <stdlib.h>

/* Types of whole models, each with that of its text_config. */
static const char wholes[] =
    "audioflamingo3=qwen2 aya_vision=cohere2 cohere2_vision=cohere2 cosmos3_omni=qwen3_vl_text "
    "deepseek_vl=llama deepseek_vl_hybrid=llama dots3_note=dots3_note_text "
    "embedding_gemma2=embedding_gemma2_text exaone4_5=exaone4 fast_vlm=qwen2 fun_asr_nano=qwen3 "
    "gemma3=gemma3_text gemma3n=gemma3n_text gemma4=gemma4_text "
    "gemma4_unified=gemma4_unified_text gemma4_unified_assistant=gemma4_unified_text "
    "glm46v=glm4v_text glm4v=glm4v_text glm4v_moe=glm4v_moe_text glm5_next=glm5_next_text "
    "glm_ocr=glm_ocr_text glmasr=llama glmga=glm4v_text got_ocr2=qwen2 "
    "granite4_vision=granite4_vision_text granite_speech=granite granite_speech_plus=granite "
    "grounding-dino=bert hunyuan_vl=hunyuan_vl_text idefics2=mistral idefics3=llama "
    "internvl=qwen2 janus=llama jev=qwen3_5_text kimi_k25=deepseek_v3 lfm2_vl=lfm2 "
    "lighton_ocr=qwen3 llama4=llama4_text llava=llama llava_next=llama llava_next_video=llama "
    "llava_onevision=qwen2 minicpm_ocr=qwen3_5_text minicpmv4_6=qwen3_5_text "
    "minicpmv4_7=qwen3_5_text minimax_m3_vl=minimax_m3_vl_text mistral3=mistral "
    "mm-grounding-dino=bert modernvbert=modernbert moss_transcribe_diarize=qwen3 "
    "muse_glimmer=muse_glimmer_text musicflamingo=qwen2 omniasr=llama ovis2=qwen2 "
    "paddleocr_vl=paddleocr_vl_text paligemma=gemma pe_audio=modernbert "
    "pe_audio_video=modernbert pe_video=modernbert perception_lm=llama pp_chart2table=qwen2 "
    "qianfan_ocr=qwen3 qwen2_5_omni=qwen2_5_omni_text qwen2_5_omni_thinker=qwen2_5_omni_text "
    "qwen2_5_vl=qwen2_5_vl_text qwen2_audio=qwen2 qwen2_vl=qwen2_vl_text qwen3_5=qwen3_5_text "
    "qwen3_5_moe=qwen3_5_moe_text qwen3_asr=qwen3 qwen3_omni_moe=qwen3_omni_moe_text "
    "qwen3_omni_moe_thinker=qwen3_omni_moe_text qwen3_vl=qwen3_vl_text "
    "qwen3_vl_moe=qwen3_vl_moe_text qwen4_exp=qwen4_exp_text shieldgemma2=gemma3_text "
    "smolvlm=llama vibevoice=qwen2 vibevoice_asr=qwen2 video_llama_3=qwen2 video_llava=llama "
    "vipllava=llama vision-text-dual-encoder=bert voxtral=llama";

static int compare(const void *name, const void *row) {
    const char *type = ((const tare_llama_class_row *)row)->model_type;
    return tare_str_compare(*(const tare_str *)name, tare_str_of(type));
}

/* What follows "name" and `sign` in a row. */
static tare_str formula_after(const char *members, tare_str name, const char *sign) {
    const size_t length = strlen(sign);
    for (const char *word = members; *word; word += *word == ' ') {
        const tare_str w = {word, strcspn(word, " ")};
        word += w.len;
        if (w.len > name.len + length && memcmp(w.ptr, name.ptr, name.len) == 0 &&
            memcmp(w.ptr + name.len, sign, length) == 0)
            return tare_str_cut(w, name.len + length);
    }
    return (tare_str){NULL, 0};
}

const char *tare_llama_class_members(tare_str model_type) {
    const tare_str text = formula_after(wholes, model_type, "=");
    const tare_str *type = text.ptr ? &text : &model_type;
    const tare_llama_class_row *row =
        bsearch(type, tare_llama_class_rows, tare_llama_n_class_rows, sizeof *row, compare);
    return row ? row->members : NULL;
}

bool tare_llama_class_default(tare_str *formula, const char *members, tare_str name, bool is_null) {
    const tare_str absent = formula_after(members, name, "=");
    *formula = formula_after(members, name, "?=");
    if (absent.ptr && !is_null) *formula = absent;
    return absent.ptr || formula->ptr;
}
