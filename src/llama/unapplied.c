/* SPDX-License-Identifier: MIT
 *
 * What config.json asks for and the file has no place for: llama.cpp has it in other architectures
 * only. The model is written without it, and that is said. */
#include "base/report.h"
#include "base/str.h"
#include "llama/mapping.h"

/* Each wants a key of the architecture, or a tensor; the other is NULL. */
static const struct {
    const char *when; /* a formula */
    const char *key, *tensor;
    const char *text;
} wishes[] = {
    {"if(rope.type == 'linear', has(rope.factor))", "rope.scaling.type", NULL,
     "rope_type linear: llama.cpp does not scale positions in this architecture, the model is "
     "written without"},
    {"if(rope.type == 'yarn', has(rope.factor))", "rope.scaling.type", NULL,
     "rope_type yarn: llama.cpp does not scale positions in this architecture, the model is "
     "written without"},
    {"rope.type == 'longrope'", NULL, "rope_factors_long.weight",
     "rope_type longrope: llama.cpp has no such factors in this architecture, the model is written "
     "without"},
    {"rope.type == 'llama3'", NULL, "rope_freqs.weight",
     "rope_type llama3: llama.cpp has no such factors in this architecture, the model is written "
     "without"},
    {"rope.type == 'proportional'", NULL, "rope_freqs.weight",
     "rope_type proportional: llama.cpp has no such factors in this architecture, the model is "
     "written without"},
    {"rope.type == 'xdrope'", "rope.dimension_sections", NULL,
     "rope_type xdrope: llama.cpp does not have it in this architecture, the model is written "
     "without"},
    {"if(use_sliding_window | true, if(has(sliding_window), in('sliding_attention', layer_types)))",
     "attention.sliding_window", NULL,
     "layer_types has sliding_attention: llama.cpp has no such windows in this architecture, all "
     "layers see all"},
};

tare_status tare_llama_note_unapplied(const tare_llama_mapping *m, tare_error *err) {
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        tare_llama_value is_wished;
        TARE_TRY(
            tare_llama_formula(&is_wished, tare_str_of(wishes[i].when), &m->config, NULL, err));
        if (!(is_wished.number > 0)) continue;
        if (wishes[i].key ? tare_llama_has_key(m, wishes[i].key)
                          : tare_llama_has_target(m, tare_str_of(wishes[i].tensor)))
            continue;
        tare_finding f = TARE_FINDING(WARNING, TARE_OK, "llama.not-applied");
        f.item_kind = TARE_ITEM_RESOURCE;
        f.item_name = TARE_STR("config.json");
        f.text = tare_str_of(wishes[i].text);
        tare_report_add(m->options->report, &f);
    }
    return TARE_OK;
}
